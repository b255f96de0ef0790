/* `retort run FILE.ipynb`: runs a notebook, and writes a copy with its outputs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/cmd.h"
#include "cli/host/outdir.h"
#include "cli/host/program.h"
#include "cli/host/xdg.h"
#include "cli/notebook/cells.h"
#include "cli/screen/term.h"
#include "cli/session/copy.h"
#include "serve/jupyter/notebook_param.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".ipynb";

struct notebook_run {
	struct run_args *args;
	struct opt_set *set;
	char *path;	       /* of the notebook */
	char output[PATH_MAX]; /* where the copy goes; "-": standard output */
	struct notebook nb;
	const char *runtime;
	json_t *create; /* parameters of session.create */
	struct cells_run cells;
	int out_fd; /* directory of --out, or -1 */
};

bool run_is_notebook(const char *path)
{
	size_t bytes = strlen(path), n = sizeof ending - 1;
	return bytes > n && strcasecmp(path + bytes - n, ending) == 0;
}

/* ---- options ---- */

int run_check_no_notebook(const struct opt_set *set, struct err *err)
{
	static const char *const names[] = {"output", "inplace", "allow-errors", "param", "params"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (opt_source(set, names[i]) != OPT_UNSET)
			return err_fail(err, ERR_USAGE,
				"leave it out, or name a FILE.ipynb before other words",
				"--%s is for a notebook", names[i]);
	return 0;
}

/* Take options behind the file, where users of other programs write them. */
static int take_rest(struct notebook_run *run, char **argv, struct err *err)
{
	int argc = 0;
	while (argv[argc])
		argc++;
	run->set->stop_at_operand = false;
	int at = opt_parse(run->set, argc, argv, err);
	if (run->args->help)
		return err_set(err, ERR_USAGE, "--help is for the first place: retort run --help");
	if (at < 0 || !argv[at])
		return MIN(at, 0);
	return err_fail(err, ERR_USAGE, "set variables of it: --param NAME=VALUE",
		"\"%.64s\": a notebook has no arguments", argv[at]);
}

static int check_options(const struct notebook_run *run, struct err *err)
{
	static const char *const names[] = {
		"code", "stdin", "interactive", "tty", "jsonl", "images"};
	const struct run_args *args = run->args;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (opt_source(run->set, names[i]) == OPT_FROM_ARG)
			return err_fail(err, ERR_USAGE, "leave it out",
				"--%s is not for a notebook", names[i]);
	if (args->inplace && args->output_file)
		return err_set(err, ERR_USAGE, "--inplace and --output exclude each other");
	if (args->output.json && strcmp(run->output, "-") == 0)
		return err_fail(err, ERR_USAGE, "name a FILE: --output FILE",
			"--json and --output - are both for standard output");
	return box_check(&args->box, err);
}

/* ---- where the copy goes ---- */

static int choose_output(struct notebook_run *run, struct err *err)
{
	const struct run_args *args = run->args;
	const char *named = args->inplace ? run->path : args->output_file;
	size_t bytes = strlen(run->path) - (sizeof ending - 1);
	int n = named
		? snprintf(run->output, PATH_MAX, "%s", named)
		: snprintf(run->output, PATH_MAX, "%.*s.executed%s", (int)bytes, run->path, ending);
	if (n < PATH_MAX && n > 0)
		return 0;
	return err_set(err, ERR_USAGE, "--output: %s", n ? "the path is too long" : "no name");
}

/* Refuse an output that could not be written, before cells run for hours. */
static int check_output(const struct notebook_run *run, struct err *err)
{
	char dir[PATH_MAX];
	struct stat in, out;
	const char *slash = strrchr(run->output, '/');
	bool is_there = stat(run->output, &out) == 0;
	if (strcmp(run->output, "-") == 0)
		return 0;
	if (is_there && S_ISDIR(out.st_mode))
		return err_fail(
			err, ERR_USAGE, "name a file", "--output %s: a directory", run->output);
	if (is_there && !run->args->inplace && stat(run->path, &in) == 0 &&
		in.st_dev == out.st_dev && in.st_ino == out.st_ino)
		return err_fail(err, ERR_USAGE,
			"name another file, or write into the notebook: --inplace",
			"--output %s: the notebook itself", run->output);
	if (is_there && !S_ISREG(out.st_mode))
		return 0;
	snprintf(dir, sizeof dir, "%.*s", slash ? (int)MAX(slash - run->output, 1) : 1,
		slash ? run->output : ".");
	if (access(dir, W_OK | X_OK) == 0)
		return 0;
	return err_fail_sys(err, ERR_ACCESS, errno,
		"name a file in a directory that you may write to: --output FILE", "%s",
		run->output);
}

/* ---- before the run ---- */

static int read_params(const struct notebook_run *run, json_t *params, struct err *err)
{
	const struct run_args *args = run->args;
	cleanup_buf struct buf text = BUF_INIT(NOTEBOOK_PARAM_BYTES);
	int r = args->params_file ? program_read(args->params_file, &text, err) : 0;
	if (r == 0 && args->params_file &&
		(r = notebook_param_read(params, buf_str(&text), text.bytes, err)) < 0)
		(void)err_wrap(err, "--params %s", args->params_file);
	for (size_t i = 0; r == 0 && i < args->params.n; i++)
		if ((r = notebook_param_set(params, args->params.item[i], err)) < 0)
			(void)err_wrap(err, "--param");
	return r;
}

static int inject(struct notebook_run *run, struct err *err)
{
	cleanup_json json_t *params = json_need(json_object());
	cleanup_buf struct buf code = BUF_INIT(NOTEBOOK_CODE_BYTES);
	if (!run->args->params_file && run->args->params.n == 0)
		return 0;
	int r = read_params(run, params, err);
	if (r == 0)
		r = notebook_param_code(params, run->runtime, &code, err);
	if (r == 0)
		notebook_inject(&run->nb, buf_str(&code));
	return r;
}

static int read_notebook(struct notebook_run *run, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(NOTEBOOK_BYTES);
	const struct run_args *args = run->args;
	int r = program_read(run->path, &text, err);
	if (r == -E2BIG)
		return err_hint(err, "remove its outputs: jupyter nbconvert --clear-output FILE");
	if (r < 0)
		return r;
	r = notebook_read(&run->nb, buf_str(&text), text.bytes, err);
	if (r < 0)
		return err_wrap(err, "%.150s", run->path);
	run->runtime = args->box.runtime ? args->box.runtime : notebook_runtime(&run->nb, err);
	if (!run->runtime)
		return err_wrap(err, "%.150s", run->path);
	return inject(run, err);
}

/* Show the notebook's own file in the box, where `retort run` shows a program's. */
static void show_file(const struct notebook_run *run)
{
	static struct volume volumes[OPT_LIST_MAX + 1];
	json_t *rows = json_object_get(run->create, "volumes");
	struct order order = {.workspace = run->args->box.workspace, .volumes = volumes};
	struct program_place place;
	for (size_t i = 0; i < json_array_size(rows) && i < ARRAY_LEN(volumes); i++)
		volumes[order.n_volumes++].dst = json_get_text(json_array_get(rows, i), "dst");
	program_place(run->path, &order, &place);
	if (place.src[0])
		json_add_new(rows,
			json_pack("{s:s, s:s, s:s}", "src", place.src, "dst", place.dst, "mode",
				"ro"));
}

static int prepare(struct notebook_run *run, char **argv, struct err *err)
{
	const struct run_args *args = run->args;
	int r = take_rest(run, argv, err);
	if (r == 0)
		r = choose_output(run, err);
	if (r == 0)
		r = check_options(run, err);
	if (r == 0)
		r = read_notebook(run, err);
	if (r == 0)
		r = check_output(run, err);
	if (r == 0 && args->output.dir)
		r = run->out_fd = outdir_open(args->output.dir, err);
	if (r >= 0 && !(run->create = box_params(&args->box, run->set, err)))
		r = -err_errno(err->code);
	if (r < 0)
		return r;
	json_put_text(run->create, "runtime", run->runtime);
	show_file(run);
	notebook_clear(&run->nb);
	return 0;
}

/* ---- the run ---- */

/* The terminal was closed. SIGTERM stops the cell, and the copy is written. */
static void on_hung_up(void *arg)
{
	(void)arg;
	(void)raise(SIGTERM);
}

static int start(struct notebook_run *run, struct err *err)
{
	const struct run_args *args = run->args;
	struct cells_run *cells = &run->cells;
	const struct service_config config = {.version = version_text,
		.skills = args->box.skills,
		.layers_dir = xdg_layers_dir(NULL)};
	json_t *session = NULL;
	int r = service_open(&cells->service, &config, err);
	if (r == 0)
		r = service_watch(cells->service, SIGHUP, on_hung_up, run, err);
	if (r == 0)
		r = cells_call(cells, "session.create", json_incref(run->create), &session, err);
	snprintf(cells->session, sizeof cells->session, "%s", json_get_text(session, "session"));
	json_decref(session);
	return r < 0 ? r
		     : box_publish(&args->box, cells->session, !cells->is_telling, cells_call,
			       cells, err);
}

/* ---- after the run ---- */

static int write_output(const struct notebook_run *run, struct err *err)
{
	char *text = notebook_text(&run->nb);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "no memory for the notebook with its outputs");
	int r = strcmp(run->output, "-") == 0 ? fd_write_all(STDOUT_FILENO, text, strlen(text))
					      : outdir_put_at(run->output, text, strlen(text), err);
	if (r < 0 && strcmp(run->output, "-") == 0)
		r = err_sys(err, ERR_IO, -r, "standard output");
	free(text);
	return r;
}

static int copy_files(struct notebook_run *run, struct err *err)
{
	const struct copy_from from = {
		.call = cells_call, .arg = &run->cells, .session = run->cells.session};
	cleanup_json json_t *record = json_need(json_pack("{s:[]}", "files"));
	const char *path;
	json_t *row;
	json_object_foreach(run->cells.files, path, row)
		json_add_shared(json_object_get(record, "files"), row);
	return run->out_fd < 0 ? 0 : copy_changed(&from, record, run->out_fd, err);
}

static void tell_end(const struct notebook_run *run)
{
	const struct cells_run *cells = &run->cells;
	cleanup_buf struct buf path = BUF_INIT(4 * PATH_MAX);
	if (cells->limits && !run->args->output.quiet) {
		cleanup_json json_t *record =
			json_need(json_pack("{s:O}", "limits", cells->limits));
		view_unenforced(run->set, record);
	}
	if (!cells->is_telling || strcmp(run->output, "-") == 0)
		return;
	(void)utf8_escape_terminal(&path, run->output, strlen(run->output), UTF8_ONE_LINE);
	fprintf(stderr, "retort: %s: %zu of %zu cells were run", buf_str(&path), cells->n_run,
		cells->n_cells);
	if (cells->n_failed > 0)
		fprintf(stderr, ", %zu failed", cells->n_failed);
	fputs("\n", stderr);
}

static int show_json(const struct notebook_run *run)
{
	const struct cells_run *cells = &run->cells;
	cleanup_json json_t *out = json_need(json_object());
	json_put_int(out, "schema", 1);
	json_put_text(out, "notebook", run->path);
	json_put_text(out, "output", run->output);
	json_put_text(out, "session", cells->session);
	json_put_text(out, "runtime", run->runtime);
	json_put_text(out, "status", cells->end_status);
	json_put_int(out, "exit_status", cells->status);
	json_put_int(out, "n_cells", (json_int_t)cells->n_cells);
	json_put_shared(out, "cells", cells->rows);
	json_put_shared(out, "limits", cells->limits);
	return view_json(out);
}

/* Returns: the exit status of the command. */
static int finish(struct notebook_run *run)
{
	int status = run->cells.status;
	struct err err = {0};
	if (write_output(run, &err) < 0) {
		int failed = cli_fail(&err, false);
		status = status ? status : failed;
	} else {
		tell_end(run);
	}
	if (copy_files(run, &err) < 0) {
		int failed = cli_fail(&err, false);
		status = status ? status : failed;
	}
	if (run->args->output.json && show_json(run) != 0 && status == 0)
		status = 1;
	return status;
}

int run_notebook(struct run_args *args, struct opt_set *set, char **argv)
{
	struct notebook_run *run = xnew(struct notebook_run);
	struct cells_run *cells = &run->cells;
	struct err err = {0};
	int status;
	run->args = args;
	run->set = set;
	run->path = argv[0];
	run->out_fd = -1;
	cells_init(cells);
	int r = prepare(run, argv, &err);
	cells->args = args;
	cells->set = set;
	cells->path = run->path;
	cells->nb = &run->nb;
	cells->runtime = run->runtime;
	cells->is_telling = !args->output.quiet && !args->output.json;
	cells->has_progress = cells->is_telling && term_is(STDERR_FILENO);
	if (r == 0)
		r = start(run, &err);
	if (r < 0) {
		status = cli_fail(&err, args->output.json);
	} else {
		cells_run(cells);
		status = finish(run);
	}
	cells_done(cells);
	service_close(cells->service);
	notebook_done(&run->nb);
	json_decref(run->create);
	fd_close(&run->out_fd);
	free(run);
	return status;
}
