/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd.h"

#include "base/json.h"

#include <jansson.h>

const char version_text[] = RETORT_VERSION;
const char version_date[] = RETORT_DATE;

struct version_args {
	bool json, help;
	int color;
};

static const struct opt version_opts[] = {
	{.name = "json",
		OPT_INTO_FLAG(struct version_args, json),
		.group = "Options",
		.help = "print one JSON object"},
	CMD_COMMON_OPTS(struct version_args),
};

static int version_run(int argc, char **argv)
{
	struct version_args args = {0};
	struct opt_set set;
	struct err err;
	int at = cmd_parse(&cmd_version, &set, &args, argc, argv, &err);
	if (at < 0)
		return cli_fail(&err, args.json);
	if (at == 0)
		return 0;
	if (!args.json) {
		printf("retort %s\n", version_text);
		return 0;
	}
	cleanup_json json_t *root = json_pack("{s:s}", "version", version_text);
	(void)json_dumpf(root, stdout, JSON_COMPACT);
	printf("\n");
	return 0;
}

static const char *const version_usage[] = {"version [--json]", NULL};

const struct cmd cmd_version = {
	.name = "version",
	.summary = "Print the version",
	.usage = version_usage,
	.opts = version_opts,
	.n_opts = ARRAY_LEN(version_opts),
	.run = version_run,
};
