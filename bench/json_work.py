"""json_work.py - typical work on JSON: builds a document, writes it, reads it back, sorts it.

usage: json_work.py ROWS    (with PYTHONMALLOC=malloc some 130 allocations a row)
"""
import json
import sys


def rows(count):
    return [
        {
            "id": i,
            "name": f"item {i}",
            "tags": [f"a{i % 7}", f"b{i % 11}"],
            "price": i * 1.25,
            "nested": {"x": i, "y": [i, i + 1]},
        }
        for i in range(count)
    ]


document = rows(int(sys.argv[1]))
for _ in range(2):
    text = json.dumps(document)
    document = json.loads(text)
    document.sort(key=lambda row: -row["price"])
print(len(text))
