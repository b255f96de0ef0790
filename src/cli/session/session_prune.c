/* The command `retort session prune`. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/call_session.h"
#include "base/json.h"
#include "cli/session/session.h"

#include <inttypes.h>
#include <stdio.h>

/* clang-format off */
static const struct opt opts[] = {
	{.name = "older-than", OPT_INTO_MS(struct session_args, older_ms), .arg = "TIME", .flags = OPT_NO_ENV,
		.group = "Options", .max = INT64_C(1) << 40, .help = HELP_PRUNE_OLDER},
	{.name = "keep", OPT_INTO_COUNT(struct session_args, keep), .arg = "N", .flags = OPT_NO_ENV,
		.group = "Options", .max = 1 << 30, .help = HELP_PRUNE_KEEP},
	{.name = "all", OPT_INTO_FLAG(struct session_args, all), .flags = OPT_NO_ENV, .group = "Options",
		.help = "all closed sessions"},
	{.name = "dry-run", OPT_INTO_FLAG(struct session_args, dry_run), .flags = OPT_NO_ENV,
		.group = "Options", .help = HELP_PRUNE_DRY},
	{.name = "json", OPT_INTO_FLAG(struct session_args, output.json), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print one JSON object"},
	SESSION_SOCKET_OPT,
	CMD_COMMON_OPTS(struct session_args),
};
/* clang-format on */

static json_t *prune_params(const struct session_run *run)
{
	const struct session_args *args = &run->args;
	json_t *params = json_pack("{s:b, s:b}", "all", args->all, "dry_run", args->dry_run);
	if (opt_source(&run->set, "older-than") != OPT_UNSET)
		json_put_int(params, "older_ms", args->older_ms);
	if (opt_source(&run->set, "keep") != OPT_UNSET)
		json_put_int(params, "keep", args->keep);
	return params;
}

static int show(const struct session_run *run, const json_t *result)
{
	const json_t *steps = json_object_get(result, "steps");
	json_int_t n = json_integer_value(json_object_get(result, "sessions"));
	if (run->args.output.json)
		return view_json(result);
	printf("%" JSON_INTEGER_FORMAT " session%s", n, n == 1 ? "" : "s");
	if (steps)
		printf(", %" JSON_INTEGER_FORMAT " step%s", json_integer_value(steps),
			json_integer_value(steps) == 1 ? "" : "s");
	return puts(run->args.dry_run ? " would be forgotten" : " forgotten") < 0;
}

static int prune_main(int argc, char **argv)
{
	struct session_run run;
	struct err err = {0};
	json_t *result = NULL;
	int status = 0;
	int r = session_begin(
		&run, &cmd_session_prune, &(struct session_argv){argc, argv, 0, 0}, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = session_call(&run, "session.prune", prune_params(&run), &result, &err);
	if (r == 0)
		status = show(&run, result);
	json_decref(result);
	return session_end(&run, r, &err, status);
}

static const char *const usage[] = {
	"session prune --older-than TIME | --keep N | --all [options]", NULL};

static const struct cmd_example examples[] = {
	{"forget sessions closed at least a week ago", "retort session prune --older-than 168h"},
};

const struct cmd cmd_session_prune = {
	.name = "session prune",
	.summary = TEXT_PRUNE,
	.usage = usage,
	.text = "Open sessions stay, and so do steps that other sessions were branched from. The "
		"engine frees disk space bit by bit, and serves other calls meanwhile.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.run = prune_main,
};
