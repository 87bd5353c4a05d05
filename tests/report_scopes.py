"""The scopes of a report's JSON, as tests compare them."""


def by_path(report):
    """{"outer > inner": scope}"""
    return {" > ".join(scope["path"]): scope for scope in report.get("scopes", [])}


def figures(scope, *keys):
    return tuple(scope[key] for key in keys)


def bytes_of(scopes):
    """What was allocated in each, without the scopes inside."""
    return {path: scope["self"]["allocated_bytes"] for path, scope in scopes.items()}
