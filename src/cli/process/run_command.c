/* `retort run -- CMD`: runs any program in a box that ends with it. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "cli/host/xdg.h"
#include "cli/cmd.h"
#include "cli/host/outdir.h"
#include "cli/process/own_engine.h"
#include "cli/process/foreground.h"
#include "cli/run.h"
#include "cli/session/copy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Refuse the options that are about code of a language. */
static int check_options(const struct run_args *args, const struct opt_set *set, struct err *err)
{
	static const char *const names[] = {"runtime", "preload", "fresh", "jsonl", "images"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (opt_source(set, names[i]) == OPT_FROM_ARG)
			return err_fail(err, ERR_USAGE,
				"leave it out, or write a FILE or -c CODE instead of --",
				"--%s is not for a program behind --", names[i]);
	if (args->output.json && args->process.terminal)
		return err_fail(
			err, ERR_USAGE, "leave one out", "--json and --tty exclude each other");
	if (args->stdin_file && args->process.input && strcmp(args->stdin_file, "-") != 0)
		return err_fail(err, ERR_USAGE, "leave one out",
			"--stdin and --interactive exclude each other");
	int r = output_check(&args->output, err);
	return r < 0 ? r : box_check(&args->box, err);
}

static int call_engine(
	void *arg, const char *method, json_t *params, json_t **result, struct err *err)
{
	return client_call(arg, method, params, NULL, result, err);
}

struct command {
	const struct run_args *args;
	const struct opt_set *set;
	struct client client;
	struct foreground_order order;
	int out_fd; /* directory of --out, or -1 */
};

/* What becomes of the box after the program has ended: the files of --out, and the object of
 * --json. Returns: @status, or that of a failure to write; or negative errno. */
static int finish(struct command *c, json_t *about, int status, struct err *err)
{
	const struct output_args *output = &c->args->output;
	const struct copy_from from = {
		.call = call_engine, .arg = &c->client, .session = c->order.session};
	if (!output->json && !output->quiet)
		foreground_tell(about, c->order.timeout_ms);
	int r = c->out_fd >= 0 ? copy_all(&from, c->out_fd, err) : 0;
	if (r > 0)
		view_tell_not_all();
	if (r >= 0 && output->json)
		r = foreground_add_output(&c->client, c->order.session, about, err);
	if (r < 0)
		return r;
	return output->json && view_json(about) != 0 && status == 0 ? 1 : status;
}

/* Put the program of the image before the arguments; or, without arguments, those of the image
 * behind it. Owns: the caller frees the array. */
static char **image_argv(const json_t *image, char **argv)
{
	const json_t *config = json_object_get(image, "config");
	const json_t *lists[] = {json_object_get(config, "entrypoint"),
		argv[0] ? NULL : json_object_get(config, "cmd")};
	size_t n = 0, k = 0, i;
	const json_t *text;
	while (argv[n])
		n++;
	char **out =
		xcalloc(n + json_array_size(lists[0]) + json_array_size(lists[1]) + 1, sizeof *out);
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		json_array_foreach(json_unconst(lists[l]), i, text)
		{
			out[k++] = (char *)(uintptr_t)json_string_value(text);
		}
	}
	for (i = 0; i < n; i++)
		out[k++] = argv[i];
	return out;
}

/* A file of this host is not in the box. */
static int fail_not_found(const char *program, struct err *err)
{
	bool is_bare = !strchr(program, '/');
	if (err->code == ERR_RUNTIME && access(program, R_OK) == 0)
		return err_hint(err,
			"it is a file of this host: write `retort run %s%.80s`, or show it with "
			"--volume",
			is_bare ? "./" : "", program);
	return -err_errno(err->code);
}

static int run_in(struct command *c, struct err *err)
{
	const struct run_args *args = c->args;
	cleanup_json json_t *session = NULL, *about = NULL;
	json_t *create = box_params(&args->box, c->set, err);
	if (!create)
		return -err_errno(err->code);
	/* A session has a language. That of the shell starts first, and nobody uses it. With
	 * --python, the programs of that Python come first in PATH. */
	if (!args->box.python || args->box.image || args->box.rootfs)
		json_put_text(create, "runtime", "shell");
	int r = client_call(&c->client, "session.create", create, NULL, &session, err);
	if (r < 0)
		return r;
	c->order.session = json_get_text(session, "session");
	const struct output_args *output = &args->output;
	r = box_publish(&args->box, c->order.session, output->quiet || output->json, call_engine,
		&c->client, err);
	if (r < 0)
		return r;
	c->order.is_own = true;
	int status = foreground_run(&c->client, &c->order, &about, err);
	if (status < 0)
		return fail_not_found(c->order.argv[0], err);
	return about ? finish(c, about, status, err) : status;
}

/* A program at a terminal waits for a person, so that only a limit that was asked for holds. */
static uint64_t time_limit(const struct run_args *args, const struct opt_set *set)
{
	bool is_asked_for = opt_source(set, "timeout") != OPT_UNSET;
	return args->process.terminal && !is_asked_for ? 0
						       : args->box.limits.value[LIMIT_timeout_ms];
}

static int check(
	const struct run_args *args, const struct opt_set *set, char **argv, struct err *err)
{
	int r = check_options(args, set, err);
	if (r == 0 && !argv[0] && args->box.image)
		return err_fail(err, ERR_USAGE, "name one behind --, or give code with -c",
			"image %.150s names no program", args->box.image);
	if (r == 0 && !argv[0])
		return err_fail(err, ERR_USAGE, "for example: retort run -it -- bash",
			"the program behind -- is missing");
	return r;
}

static int start(
	const struct run_args *args, const struct opt_set *set, char **argv, struct err *err)
{
	struct process_args process = args->process;
	const struct service_config config = {.version = version_text,
		.skills = args->box.skills,
		.layers_dir = xdg_layers_dir(NULL)};
	cleanup_fd int file_fd = -1, out_fd = -1;
	int r = check(args, set, argv, err);
	if (r < 0)
		return r;
	if (args->stdin_file && strcmp(args->stdin_file, "-") != 0 &&
		(file_fd = run_open_stdin(args, NULL, err)) < 0)
		return file_fd;
	process.input = process.input || args->stdin_file;
	struct command c = {.args = args,
		.set = set,
		.client = {.fd = -1},
		.order = {.args = &process,
			.argv = argv,
			.timeout_ms = time_limit(args, set),
			.in_fd = file_fd >= 0 ? file_fd : STDIN_FILENO,
			.is_silent = args->output.json,
			.keep_alive = true}};
	r = foreground_check(&process, c.order.in_fd, err);
	if (r == 0 && args->output.dir)
		r = out_fd = outdir_open(args->output.dir, err);
	c.out_fd = out_fd;
	pid_t pid = r < 0 ? r : own_engine_start(&config, &c.client, err);
	if (pid < 0)
		return pid;
	r = run_in(&c, err);
	own_engine_end(pid, &c.client);
	return r;
}

int run_command(
	const struct run_args *args, const struct opt_set *set, char **argv, const json_t *image)
{
	struct err err = {0};
	char **whole = image_argv(image, argv);
	int r = start(args, set, whole, &err);
	free(whole);
	if (r >= 0)
		return r;
	/* The engine is ours: nobody can start it again. */
	if (err.code == ERR_UNREACHABLE)
		(void)err_fail(&err, ERR_GONE, "run it again", "the box was ended from outside");
	return foreground_fail(&err, args->output.json);
}
