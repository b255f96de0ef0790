/* The command `retort replay`. SPDX-License-Identifier: Apache-2.0 */
#include "api/service.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/host/xdg.h"
#include "cli/cmd.h"
#include "cli/host/program.h"
#include "cli/view.h"
#include "planner/plan_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RECORD_MAX_BYTES: limit on a record; larger ones cannot be exported. SHOWN_BYTES: limit on a
 * value that is shown. */
enum { RECORD_MAX_BYTES = 256 << 20, SHOWN_BYTES = 400 };

struct replay_args {
	bool json, quiet, help;
	const char *policy;
	int color;
};

/* clang-format off */
static const struct opt replay_opts[] = {
	{.name = "json", OPT_INTO_FLAG(struct replay_args, json), .flags = OPT_NO_ENV, .group = "Output",
		.help = "print one JSON object"},
	{.name = "policy", OPT_INTO_TEXT(struct replay_args, policy), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Plans", .help = "check the recorded calls of a plan against this policy"},
	CMD_COMMON_OPTS(struct replay_args),
};
/* clang-format on */

static void print_side(const char *what, const json_t *difference, const char *name)
{
	cleanup_buf struct buf safe = BUF_INIT(16 * SHOWN_BYTES);
	const json_t *value = json_object_get(difference, name);
	char *text =
		json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	const char *shown = json_is_string(value) ? json_string_value(value)
		: text				  ? text
						  : "nothing";
	(void)utf8_escape_terminal(
		&safe, shown, utf8_cut(shown, strlen(shown), SHOWN_BYTES), UTF8_ONE_LINE);
	printf("  %-4s %s\n", what, buf_str(&safe));
	free(text);
}

/* Show the result of a replay. Returns: the exit status. */
static int show(const json_t *result, bool is_json)
{
	const char *outcome = json_string_value(json_object_get(result, "outcome"));
	json_int_t steps = json_integer_value(json_object_get(result, "steps"));
	const json_t *difference = json_object_get(result, "first_difference");
	bool is_same = outcome && strcmp(outcome, "replayed") == 0;
	if (is_json)
		return view_json(result) || !is_same;
	printf("%s: %" JSON_INTEGER_FORMAT " step%s\n", outcome ? outcome : "?", steps,
		steps == 1 ? "" : "s");
	if (difference) {
		const char *step = json_string_value(json_object_get(difference, "step"));
		const char *place = json_string_value(json_object_get(difference, "place"));
		cleanup_buf struct buf safe = BUF_INIT(16 * SHOWN_BYTES);
		if (place)
			(void)utf8_escape_terminal(&safe, place, strlen(place), UTF8_ONE_LINE);
		printf("first difference: step %.12s, %s\n", step ? step : "?", buf_str(&safe));
		print_side("was", difference, "was");
		print_side("is", difference, "is");
	}
	return is_same ? 0 : 1;
}

/* If the error is about the record, put the name of its file in front. */
static int wrap_name(const char *path, struct err *err)
{
	bool is_its_fault = err->code == ERR_USAGE || err->code == ERR_DAMAGED ||
		err->code == ERR_LIMIT || err->code == ERR_ACCESS;
	if (!is_its_fault)
		return -1;
	return err_wrap(err, "%.100s", strcmp(path, "-") == 0 ? "standard input" : path);
}

static int no_record(const char *why, struct err *err)
{
	return err_fail(
		err, ERR_USAGE, "name a file that `retort session export` wrote", "%s", why);
}

static int replay(const struct buf *record, json_t **result, struct err *err)
{
	const struct service_config config = {
		.version = version_text, .layers_dir = xdg_layers_dir(NULL)};
	struct service *service;
	if (record->bytes == 0)
		return no_record("it is empty", err);
	json_t *text = json_stringn(buf_str(record), record->bytes);
	if (!text)
		return no_record("it is not UTF-8", err);
	json_t *params = json_pack("{s:o}", "record", text);
	int r = service_open(&service, &config, err);
	if (r < 0)
		json_decref(params);
	else
		r = service_call(service, "replay.run", params, NULL, result, err);
	service_close(service);
	return r;
}

/* Return whether the record is that of a plan, by its first event. */
static bool is_plan(const struct buf *record)
{
	const char *end = memchr(buf_str(record), '\n', record->bytes);
	cleanup_json json_t *line =
		end ? json_loadb(record->data, (size_t)(end - record->data), 0, NULL) : NULL;
	const char *event = json_string_value(json_object_get(line, "event"));
	return event && strcmp(event, "begin") == 0 && json_object_get(line, "plan");
}

static int print_out(void *arg, const char *text, size_t bytes)
{
	const struct replay_args *args = arg;
	return args->json || fwrite(text, 1, bytes, stdout) == bytes ? 0 : -1;
}

/* Replay the record of a plan. Returns: the exit status. */
static int replay_plan(const char *path, struct replay_args *args)
{
	cleanup_buf struct buf report = BUF_INIT(1 << 20);
	struct err err = {0};
	const struct plan_request req = {.path = path,
		.policy_path = args->policy,
		.arg = args,
		.print = print_out,
		.is_json = args->json};
	int r = plan_replay(&req, &report, &err);
	(void)fflush(stdout);
	fputs(buf_str(&report), stderr);
	int status = r < 0 ? cli_fail(&err, args->json) : r;
	return r < 0 && status == 1 && err.code == ERR_DAMAGED ? 2 : status;
}

static int replay_main(int argc, char **argv)
{
	struct replay_args args = {0};
	cleanup_buf struct buf record = BUF_INIT(RECORD_MAX_BYTES);
	struct err err = {0};
	json_t *result = NULL;
	int at = cmd_begin(&cmd_replay, &args, argc, argv, &err);
	if (at == 0)
		return 0;
	int r = MIN(at, 0);
	if (r == 0 && argc - at != 1) {
		if (at == argc)
			(void)err_set(&err, ERR_USAGE, "replay: the record is missing");
		else
			(void)err_set(
				&err, ERR_USAGE, "replay: unexpected \"%.64s\"", argv[at + 1]);
		r = err_hint(&err,
			"name one: a file that `retort session export` or `retort plan run "
			"--record` wrote, or -");
	}
	if (r == 0 && (r = program_read(argv[at], &record, &err)) < 0)
		r = err_hint(&err, "name a file that `retort session export` wrote, or -");
	if (r == 0 && is_plan(&record))
		return replay_plan(argv[at], &args);
	if (r == 0 && (r = replay(&record, &result, &err)) < 0)
		r = wrap_name(argv[at], &err);
	int status = r < 0 ? cli_fail(&err, args.json) : show(result, args.json);
	/* Exit status 1 means a complete replay with another result, so an error gets status 2. */
	if (r < 0 && status == 1)
		status = 2;
	json_decref(result);
	return status;
}

static const char *const usage[] = {"replay [--json] RECORD", NULL};

static const struct cmd_example examples[] = {
	{"record the steps of a session", "retort session export work -o work.jsonl"},
	{"run them again and compare", "retort replay work.jsonl"},
};

static const struct cmd_exit exits[] = {
	{"0", "every step had the same result"},
	{"1", "a step had a different result"},
	{"2", "usage error, or a damaged record"},
	{"125", "no box can be made on this host"},
	{"130", "interrupted"},
};

const struct cmd cmd_replay = {
	.name = "replay",
	.summary = "Run a record again and compare the results",
	.usage = usage,
	.text = "Runs the steps of a record one after the other in a new session and compares their results "
		"with the recorded ones. Needs no server.",
	.opts = replay_opts,
	.n_opts = ARRAY_LEN(replay_opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.exits = exits,
	.n_exits = ARRAY_LEN(exits),
	.operand = CMD_OPERAND_FILE,
	.run = replay_main,
};
