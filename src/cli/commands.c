/* commands.c - the list of subcommands, in the order of their use */
#include "cli/command.h"

const struct hwi_command *const hwi_commands[] = {
    &hwi_command_record,
    &hwi_command_report,
    &hwi_command_diff,
    &hwi_command_check,
    &hwi_command_export,
    &hwi_command_import,
    &hwi_command_tune,
    &hwi_command_control,
    &hwi_command_run,
    &hwi_command_test,
    NULL,
};
