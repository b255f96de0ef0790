/* The command `retort template build`. SPDX-License-Identifier: Apache-2.0 */
#include "cli/template/template.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_FILE_BYTES = 1 << 20, LOCK_FILE_BYTES = 64 << 20 };

/* clang-format off */
static const struct opt opts[] = {
	{.name = "pip", OPT_INTO_LIST(struct template_args, pip), .arg = "PACKAGE", .flags = OPT_NO_ENV,
		.group = "Packages", .help = "a Python package, as pip names it: pandas, \"numpy>=1.26,<2\"; @FILE: "
			"those of a file of requirements"},
	{.name = "npm", OPT_INTO_LIST(struct template_args, npm), .arg = "PACKAGE", .flags = OPT_NO_ENV,
		.group = "Packages", .help = "a package for JavaScript, as npm names it: lodash, express@4"},
	{.name = "apt", OPT_INTO_LIST(struct template_args, apt), .arg = "PACKAGE", .flags = OPT_NO_ENV,
		.group = "Packages", .help = "a Debian package, as apt names it: jq; its scripts are not run"},
	{.name = "lock", OPT_INTO_TEXT(struct template_args, lock), .arg = "FILE", .flags = OPT_NO_ENV,
		.group = "Packages", .complete = OPT_COMPLETE_FILE,
		.help = "install exactly what another build has installed: FILE is from `retort template show "
			"NAME --json`"},
	{.name = "upgrade", OPT_INTO_FLAG(struct template_args, upgrade), .flags = OPT_NO_ENV,
		.group = "Packages", .help = "build again, with the newest versions that fit, although the "
			"template has been built from the same options"},
	{.name = "python", OPT_INTO_TEXT(struct template_args, python), .arg = "PATH", .group = "Build",
		.complete = OPT_COMPLETE_FILE,
		.help = "Python interpreter, or the directory of a virtual environment; boxes of the template "
			"have it, too"},
	{.name = "net", OPT_INTO_LIST(struct template_args, net), .arg = "RULE", .flags = OPT_NO_ENV,
		.group = "Build", .help = "what the build may connect to, besides the registries of its packages; "
			"!pypi, !npm, !debian: the registry may have a private address"},
	{.name = "env", .letter = 'e', OPT_INTO_LIST(struct template_args, env), .arg = "K[=V]", .flags = OPT_NO_ENV,
		.group = "Build", .help = "set an environment variable of the build; K alone passes on the host's "
			"value"},
	{.name = "memory", .letter = 'm', OPT_INTO_BYTES(struct template_args, memory_bytes), .arg = "SIZE",
		.flags = OPT_NO_ENV, .group = "Build", .fallback = "4g", .min = 16 << 20, .max = UINT64_C(1) << 50,
		.help = "memory of the build"},
	{.name = "disk", OPT_INTO_BYTES(struct template_args, disk_bytes), .arg = "SIZE", .flags = OPT_NO_ENV,
		.group = "Build", .fallback = "8g", .min = 1 << 20, .max = UINT64_C(1) << 50,
		.help = "size of the template"},
	{.name = "timeout", OPT_INTO_MS(struct template_args, timeout_ms), .arg = "TIME", .flags = OPT_NO_ENV,
		.group = "Build", .fallback = "30m", .min = 1, .max = UINT64_C(1) << 40, .help = "wall time"},
	{.name = "quiet", .letter = 'q', OPT_INTO_FLAG(struct template_args, quiet), .flags = OPT_NO_ENV,
		.group = "Output", .help = "print no progress"},
	TEMPLATE_JSON_OPT,
	TEMPLATE_STATE_OPT,
	CMD_COMMON_OPTS(struct template_args),
};
/* clang-format on */

/* Make one line of those that end in a backslash. */
static void join_lines(char *text)
{
	for (char *at = text; (at = strchr(at, '\\')); at++) {
		size_t n = strspn(at + 1, "\r\n");
		if (n > 0)
			memset(at, ' ', n + 1);
	}
}

/* Add the packages of a file, one per line, to @list. A "#" at the beginning of a word starts a
 * comment. */
static int add_lines(json_t *list, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(LIST_FILE_BYTES);
	char *rest = NULL;
	int r = file_load(&text, path, "the file", err);
	if (r < 0)
		return r;
	if (!utf8_is_valid(buf_str(&text), text.bytes))
		return err_set(err, ERR_USAGE, "%.100s: not UTF-8", path);
	char *copy = xstrdup(buf_str(&text));
	join_lines(copy);
	for (char *line = strtok_r(copy, "\r\n", &rest); r == 0 && line;
		line = strtok_r(NULL, "\r\n", &rest)) {
		line += strspn(line, " \t");
		char *comment = strstr(line, " #");
		size_t bytes = line[0] == '#' ? 0
			: comment	      ? (size_t)(comment - line)
					      : strlen(line);
		while (bytes > 0 && strchr(" \t", line[bytes - 1]))
			bytes--;
		if (bytes > 0 && line[0] == '-')
			r = err_fail(err, ERR_USAGE, "name packages only, one in a line",
				"%.100s: \"%.60s\" is no package", path, line);
		else if (bytes > 0)
			json_add_new(list, json_new_text(line, bytes));
	}
	free(copy);
	return r;
}

static int put_list(json_t *params, const char *name, const struct opt_list *given, struct err *err)
{
	/* the names of npm's packages may begin with "@" */
	bool has_files = strcmp(name, "npm") != 0;
	int r = 0;
	if (given->n == 0)
		return 0;
	json_t *list = json_need(json_array());
	json_put_new(params, name, list);
	for (size_t i = 0; r == 0 && i < given->n; i++) {
		const char *item = given->item[i];
		if (has_files && item[0] == '@')
			r = add_lines(list, item + 1, err);
		else if (utf8_is_valid(item, strlen(item)))
			json_add_text(list, item);
		else
			r = err_set(err, ERR_USAGE, "--%s %.60s: not UTF-8", name, item);
	}
	return r;
}

static int put_env(json_t *params, const struct opt_list *given, struct err *err)
{
	json_t *env = json_need(json_object());
	json_put_new(params, "env", env);
	for (size_t i = 0; i < given->n; i++) {
		const char *item = given->item[i];
		size_t bytes = strcspn(item, "=");
		char *name = strndup(item, bytes);
		const char *value = item[bytes] ? item + bytes + 1 : getenv(name);
		if (value && bytes > 0 && utf8_is_valid(item, strlen(item)) &&
			utf8_is_valid(value, strlen(value)))
			json_put_text(env, name, value);
		free(name);
		if (bytes == 0)
			return err_fail(err, ERR_USAGE, "write -e NAME=VALUE",
				"--env \"%.100s\" has no name", item);
	}
	return 0;
}

/* Take the locked lists of @path, and what was to be installed. */
static int put_lock(json_t *params, const char *path, struct err *err)
{
	static const char *const lists[] = {"pip", "npm", "apt", "command"};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (json_object_get(params, lists[i]))
			return err_fail(err, ERR_USAGE, "leave the others out",
				"--lock says already what to install, and so does %s", lists[i]);
	cleanup_buf struct buf text = BUF_INIT(LOCK_FILE_BYTES);
	json_error_t where;
	int r = file_load(&text, path, "the file", err);
	if (r < 0)
		return r;
	cleanup_json json_t *about = json_loadb(buf_str(&text), text.bytes, 0, &where);
	const json_t *lock = json_object_get(about, "lock");
	const json_t *spec = json_object_get(about, "spec");
	if (!json_is_object(lock) || !json_is_object(spec))
		return err_fail(err, ERR_USAGE, "make it with `retort template show NAME --json`",
			"%.100s is no locked list of a template", path);
	json_put_shared(params, "lock", lock);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (json_object_get(spec, lists[i]))
			json_put_shared(params, lists[i], json_object_get(spec, lists[i]));
	return 0;
}

static void put_limits(json_t *params, const struct template_args *args)
{
	json_put_new(params, "limits",
		json_pack("{s:I, s:I}", "memory_bytes", (json_int_t)args->memory_bytes,
			"timeout_ms", (json_int_t)args->timeout_ms));
	json_put_int(params, "layer_bytes", (int64_t)args->disk_bytes);
	json_put_bool(params, "upgrade", args->upgrade);
	json_put_bool(params, "stream", !args->quiet);
}

static int make_params(const struct template_run *run, json_t *params, struct err *err)
{
	const struct template_args *args = &run->args;
	struct opt_list command = {.n = 0};
	if (run->n_operands > 1 && !run->set.is_ended_by_dashes)
		return err_fail(err, ERR_USAGE,
			"give each package an option of its own: --pip A --pip B; a command stands "
			"behind --",
			"unexpected \"%.60s\"", run->operands[1]);
	for (int i = 1; i < run->n_operands && command.n < OPT_LIST_MAX; i++)
		command.item[command.n++] = run->operands[i];
	const struct {
		const char *name;
		const struct opt_list *list;
	} rows[] = {
		{"pip", &args->pip}, {"npm", &args->npm}, {"apt", &args->apt}, {"net", &args->net}};
	int r = 0;
	json_put_text(params, "name", run->operands[0]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(rows); i++)
		r = put_list(params, rows[i].name, rows[i].list, err);
	for (size_t i = 0; r == 0 && i < command.n; i++) {
		if (i == 0)
			json_put_new(params, "command", json_array());
		json_add_text(json_object_get(params, "command"), command.item[i]);
	}
	if (r == 0)
		r = put_env(params, &args->env, err);
	if (r == 0 && args->python) {
		char *path = realpath(args->python, NULL);
		json_put_text(
			params, "python", path && strchr(args->python, '/') ? path : args->python);
		free(path);
	}
	put_limits(params, args);
	return r == 0 && args->lock ? put_lock(params, args->lock, err) : r;
}

/* Show what the package managers print. */
static void on_event(void *arg, const json_t *event)
{
	const char *text = json_get_text(event, "text");
	(void)arg;
	cleanup_buf struct buf shown = BUF_INIT(1 << 24);
	if (!*text)
		return;
	if (term_is(STDERR_FILENO) &&
		utf8_escape_terminal(&shown, text, strlen(text), UTF8_KEEP_LINES) == 0)
		text = buf_str(&shown);
	(void)fputs(text, stderr);
}

static int show(const struct template_run *run, const json_t *result)
{
	if (run->args.json)
		return view_json(result);
	if (json_get_int(result, "files") == 0)
		fprintf(stderr,
			"retort: the template is empty: nothing was installed, and no command has left "
			"files in /opt/%s\n",
			json_get_text(result, "name"));
	size_t n = json_array_size(json_object_get(result, "packages"));
	long long n_files = (long long)json_get_int(result, "files");
	printf("%s: %zu package%s, %.1f MiB in %lld file%s%s\n", json_get_text(result, "name"), n,
		n == 1 ? "" : "s", (double)json_get_int(result, "bytes") / (1 << 20), n_files,
		n_files == 1 ? "" : "s", json_get_bool(result, "built") ? "" : ", as built before");
	return ferror(stdout) != 0;
}

static int build_main(int argc, char **argv)
{
	struct template_run run;
	struct err err = {0};
	cleanup_json json_t *result = NULL;
	cleanup_json json_t *params = json_need(json_object());
	int status = 0;
	int r = template_begin(&run, &cmd_template_build, argc, argv, &err);
	if (r == 0)
		return 0;
	const struct client_events events = {.event = on_event};
	if (r > 0)
		r = make_params(&run, params, &err);
	if (r == 0)
		r = client_call(
			&run.client, "template.build", json_incref(params), &events, &result, &err);
	if (r == 0)
		status = show(&run, result);
	return template_end(&run, r, &err, status);
}

static const char *const usage[] = {
	"template build [options] NAME [-- COMMAND [ARGUMENT]...]", NULL};
static const struct cmd_example examples[] = {
	{"packages of three kinds",
		"retort template build data --pip pandas==2.2 --npm lodash --apt jq"},
	{"those of a file of requirements, and a file from a host",
		"retort template build nlp --pip @requirements.txt --net models.example -- "
		"curl -O https://models.example/en.bin"},
	{"exactly the same on another host", "retort template build data --lock data.lock"},
	{"newer versions", "retort template build data --pip pandas --upgrade"},
};
const struct cmd cmd_template_build = {
	.name = "template build",
	.alike = "create make install",
	.summary = "Install packages into a template",
	.usage = usage,
	.text = "The packages are installed in a box that may connect to their registries: those that "
		"pip, npm and apt of this host use. Every package is locked: its version and the "
		"hash of its file are kept, and installed is what has this hash. Then COMMAND runs, "
		"in the directory /opt/NAME of the template, with the same network; what it leaves "
		"there belongs to the template. Boxes of the template have none of this network.\n\n"
		"If the template exists and was built from the same options, nothing is done.",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.examples = examples,
	.n_examples = ARRAY_LEN(examples),
	.operand = CMD_OPERAND_NAME,
	.run = build_main,
};
