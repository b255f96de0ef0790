/* The command `retort template`, and its subcommands except `build`. SPDX-License-Identifier:
 * Apache-2.0 */
#include "cli/template/template.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/host/xdg.h"
#include "cli/process/own_engine.h"
#include "cli/screen/table.h"
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TABLE_BYTES = 1 << 20, COLUMNS = 6, LAYER_SHOWN = 12 };

static int check_operands(const struct template_run *run, const struct cmd *cmd, struct err *err)
{
	int n = run->n_operands;
	int min = cmd->operand == CMD_OPERAND_NONE ? 0 : 1;
	for (int i = 0; i < n; i++)
		if (!utf8_is_valid(run->operands[i], strlen(run->operands[i])))
			return err_set(err, ERR_USAGE, "%.60s: not UTF-8", run->operands[i]);
	if (n >= min)
		return 0;
	(void)err_set(err, ERR_USAGE, "%s: the name of the template is missing", cmd->name);
	return err_hint(err, "write: retort %s", cmd->usage[0]);
}

int template_begin(
	struct template_run *run, const struct cmd *cmd, int argc, char **argv, struct err *err)
{
	*run = (struct template_run){.args = {.memory_bytes = UINT64_C(4) << 30,
					     .disk_bytes = UINT64_C(8) << 30,
					     .timeout_ms = 1800000},
		.client = {.fd = -1}};
	int at = cmd_parse(cmd, &run->set, &run->args, argc, argv, err);
	if (at <= 0)
		return at;
	int r = cmd_config(&run->set, NULL, err);
	run->operands = argv + at;
	run->n_operands = argc - at;
	if (r == 0)
		r = check_operands(run, cmd, err);
	if (r < 0)
		return r;
	const struct service_config config = {
		.version = version_text, .layers_dir = xdg_layers_dir(run->args.state)};
	run->engine = own_engine_start(&config, &run->client, err);
	if (run->engine > 0)
		return 1;
	r = (int)run->engine;
	run->engine = 0;
	return r;
}

int template_end(struct template_run *run, int r, const struct err *err, int status)
{
	if (run->engine > 0)
		own_engine_end(run->engine, &run->client);
	return r < 0 ? cli_fail(err, run->args.json) : status;
}

static json_t *name_params(const char *name)
{
	return json_pack("{s:s}", "name", name);
}

static const struct opt plain_opts[] = {
	TEMPLATE_JSON_OPT,
	TEMPLATE_STATE_OPT,
	CMD_COMMON_OPTS(struct template_args),
};

/* ---- retort template ls ---- */

/* The text of a number or time for a cell. Owns: the caller frees. */
static char *cell(const char *fmt, ...) attr_printf(1, 2);
static char *cell(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return n < 0 ? NULL : text;
}

static char *size(const json_t *row)
{
	return cell("%.1f MiB", (double)json_get_int(row, "bytes") / (1 << 20));
}

static char *when(int64_t ms)
{
	char text[32] = "";
	time_t seconds = (time_t)(ms / 1000);
	struct tm local;
	if (localtime_r(&seconds, &local))
		(void)strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
	return cell("%s", text);
}

static int print_table(const json_t *rows)
{
	static const char *const heads[COLUMNS] = {
		"NAME", "PACKAGES", "SIZE", "FILES", "BUILT", "LAYER"};
	size_t n = json_array_size(rows), at = COLUMNS;
	cleanup_buf struct buf out = BUF_INIT(TABLE_BYTES);
	char **cells = calloc((n + 1) * COLUMNS, sizeof *cells);
	if (!cells)
		return 1;
	for (size_t i = 0; i < COLUMNS; i++)
		cells[i] = cell("%s", heads[i]);
	for (size_t i = 0; i < n; i++, at += COLUMNS) {
		const json_t *row = json_array_get(rows, i);
		cells[at] = cell("%s", json_get_text(row, "name"));
		cells[at + 1] = cell("%lld", (long long)json_get_int(row, "packages"));
		cells[at + 2] = size(row);
		cells[at + 3] = cell("%lld", (long long)json_get_int(row, "files"));
		cells[at + 4] = when(json_get_int(row, "made_ms"));
		cells[at + 5] = cell("%.*s", LAYER_SHOWN, json_get_text(row, "layer"));
	}
	int bad = table_write(&out, (const char *const *)cells, COLUMNS, n + 1, 0) < 0 ||
		fputs(buf_str(&out), stdout) < 0;
	for (size_t i = 0; i < (n + 1) * COLUMNS; i++)
		free(cells[i]);
	free(cells);
	return bad;
}

static int print_names(const json_t *rows)
{
	size_t i;
	const json_t *row;
	json_array_foreach(
		json_unconst(rows), i, row) if (puts(json_get_text(row, "name")) < 0) return 1;
	return 0;
}

static int ls_main(int argc, char **argv)
{
	struct template_run run;
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = template_begin(&run, &cmd_template_ls, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0)
		r = client_call(&run.client, "template.list", NULL, NULL, &result, &err);
	const json_t *rows = json_object_get(result, "built");
	if (r == 0)
		status = run.args.json	 ? view_json(rows)
			: run.args.quiet ? print_names(rows)
					 : print_table(rows);
	return template_end(&run, r, &err, status);
}

static const struct opt ls_opts[] = {
	{.name = "quiet",
		.letter = 'q',
		OPT_INTO_FLAG(struct template_args, quiet),
		.flags = OPT_NO_ENV,
		.group = "Output",
		.help = "print the names only"},
	TEMPLATE_JSON_OPT,
	TEMPLATE_STATE_OPT,
	CMD_COMMON_OPTS(struct template_args),
};
static const char *const ls_usage[] = {"template ls [options]", NULL};
const struct cmd cmd_template_ls = {
	.name = "template ls",
	.alike = "list",
	.summary = "List the templates",
	.usage = ls_usage,
	.opts = ls_opts,
	.n_opts = ARRAY_LEN(ls_opts),
	.run = ls_main,
};

/* ---- retort template show ---- */

static int print_about(const json_t *about)
{
	size_t i;
	const json_t *row;
	char *bytes = size(about);
	printf("layer %s, %s in %lld files\n", json_get_text(about, "layer"), bytes ? bytes : "?",
		(long long)json_get_int(about, "files"));
	free(bytes);
	json_array_foreach(json_object_get(about, "packages"), i, row)
		printf("%s %s %s %s\n", json_get_text(row, "kind"), json_get_text(row, "name"),
			json_get_text(row, "version"), json_get_text(row, "hash"));
	return ferror(stdout) != 0;
}

static int show_main(int argc, char **argv)
{
	struct template_run run;
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	int status = 0;
	int r = template_begin(&run, &cmd_template_show, argc, argv, &err);
	if (r == 0)
		return 0;
	if (r > 0 && run.n_operands > 1)
		r = err_fail(&err, ERR_USAGE, "name one template", "unexpected \"%.60s\"",
			run.operands[1]);
	if (r > 0)
		r = client_call(&run.client, "template.get", name_params(run.operands[0]), NULL,
			&result, &err);
	if (r == 0)
		status = run.args.json ? view_json(result) : print_about(result);
	return template_end(&run, r, &err, status);
}

static const char *const show_usage[] = {"template show [options] NAME", NULL};
static const struct cmd_example show_examples[] = {
	{"keep what was installed, to install exactly this elsewhere",
		"retort template show data --json >data.lock"},
};
const struct cmd cmd_template_show = {
	.name = "template show",
	.alike = "inspect get lock",
	.summary = "Show the packages of a template, with their versions and hashes",
	.usage = show_usage,
	.opts = plain_opts,
	.n_opts = ARRAY_LEN(plain_opts),
	.examples = show_examples,
	.n_examples = ARRAY_LEN(show_examples),
	.operand = CMD_OPERAND_NAME,
	.run = show_main,
};

/* ---- retort template rm ---- */

static int rm_main(int argc, char **argv)
{
	struct template_run run;
	struct err err = {0};
	int r = template_begin(&run, &cmd_template_rm, argc, argv, &err), status = 0;
	if (r == 0)
		return 0;
	for (int i = 0; r >= 0 && i < run.n_operands; i++) {
		cleanup_json json_t *result = NULL;
		r = client_call(&run.client, "template.remove", name_params(run.operands[i]), NULL,
			&result, &err);
		if (r == 0 && run.args.json)
			status |= view_json(result);
		else if (r == 0)
			status |= puts(run.operands[i]) < 0;
		if (r == 0 && json_get_bool(result, "in_use") && !run.args.json)
			fprintf(stderr,
				"retort: a session still uses the files of %s; they are deleted "
				"later\n",
				run.operands[i]);
	}
	return template_end(&run, r, &err, status);
}

static const char *const rm_usage[] = {"template rm [options] NAME...", NULL};
const struct cmd cmd_template_rm = {
	.name = "template rm",
	.alike = "remove delete",
	.summary = "Remove templates",
	.usage = rm_usage,
	.text = "Sessions that were made from them cannot be restored afterwards.",
	.opts = plain_opts,
	.n_opts = ARRAY_LEN(plain_opts),
	.operand = CMD_OPERAND_NAME,
	.run = rm_main,
};

/* ---- retort template ---- */

/* as cmd_run_sub() wants them */
struct group_args {
	bool help;
	int color;
};
static const struct opt opts[] = {CMD_COMMON_OPTS(struct group_args)};

static int template_main(int argc, char **argv)
{
	return cmd_run_sub(&cmd_template, argc, argv);
}

static const struct cmd *const subs[] = {
	&cmd_template_build, &cmd_template_ls, &cmd_template_show, &cmd_template_rm, NULL};
static const char *const usage[] = {"template COMMAND [options]", NULL};
static const struct cmd_example examples[] = {
	{"a template with packages of three kinds",
		"retort template build data --pip pandas==2.2 --npm lodash --apt jq"},
	{"run in a box of it, without a network", "retort run --template data -c 'import pandas'"},
};
const struct cmd cmd_template = {
	.name = "template",
	.summary = "Install packages once, for boxes without a network",
	.usage = usage,
	.text = "A template is a set of packages: they are installed in a box that may connect to "
		"their registries, and then nobody can change them. Boxes that are made from it "
		"see them, and need no network.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.subs = subs,
	.run = template_main,
};
