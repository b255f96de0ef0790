/* `retort doctor`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

static int doctor_main(int argc attr_unused, char **argv attr_unused)
{
	return 0;
}

const struct cmd cmd_doctor = {.name = "doctor", .summary = "Say what this host can enforce", .usage = (const char *const[]){"doctor", NULL}, .run = doctor_main};
