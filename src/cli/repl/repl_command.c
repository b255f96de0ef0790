/* The commands of `retort repl`: lines that begin with %. SPDX-License-Identifier: Apache-2.0 */
#include "cli/repl/repl.h"

#include "api/row/param.h"
#include "api/text/outcome.h"
#include "api/text/wording.h"
#include "base/attr.h"
#include "base/json.h"
#include "base/num.h"
#include "cli/cmd.h"
#include "cli/host/outdir.h"
#include "cli/session/session.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX_BYTES = 1 << 30, HOST_NAMES = 1000 };

int repl_call(
	struct repl *repl, const char *method, json_t *params, json_t **result, struct err *err)
{
	return service_call(repl->service, method, params, NULL, result, err);
}

static int call_of(void *arg, const char *method, json_t *params, json_t **result, struct err *err)
{
	return repl_call(arg, method, params, result, err);
}

static void take_session(struct repl *repl, const json_t *session)
{
	snprintf(repl->session, sizeof repl->session, "%s", session_text(session, "session"));
	snprintf(repl->name, sizeof repl->name, "%s", session_text(session, "name"));
}

int repl_create(struct repl *repl, struct err *err)
{
	json_t *session = NULL;
	bool is_first = !repl->session[0];
	int r = repl_call(repl, "session.create", json_incref(repl->create), &session, err);
	if (r == 0)
		take_session(repl, session);
	/* The first session sets the language of the REPL. Later, only %runtime changes the
	 * language; a new session does not. */
	if (r == 0 && is_first)
		snprintf(repl->runtime, sizeof repl->runtime, "%s",
			session_text(session, "runtime"));
	json_decref(session);
	return r < 0
		? r
		: box_publish(&repl->args.box, repl->session, repl->args.quiet, call_of, repl, err);
}

static json_t *here(const struct repl *repl)
{
	return json_pack("{s:s}", "session", repl->session);
}

static void tell_undo(const json_t *result)
{
	const char *head = session_text(result, "head");
	cleanup_buf struct buf words = BUF_INIT(OUTCOME_BYTES);
	if (!outcome_is_plain_undo(result))
		outcome_add_undone(&words, result);
	fprintf(stderr, "back at %.12s%s%s\n", head[0] ? head : "the start",
		words.bytes ? ": " : "", buf_str(&words));
}

static int do_undo(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *params = here(repl), *result = NULL;
	json_put_int(params, "count", m->count);
	const struct operation_listener events = {.arg = &repl->view, .event = view_event};
	int r = service_call(repl->service, "session.undo", params, &events, &result, err);
	if (r == 0 && !repl->args.quiet)
		tell_undo(result);
	json_decref(result);
	return r;
}

static int do_branch(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *params = here(repl), *result = NULL;
	json_put_text(params, "name", m->arg);
	json_put_bool(params, "force", m->is_forced);
	json_put_bool(params, "keep_processes", m->is_kept);
	json_put_bool(params, "secrets", m->has_secrets);
	int r = repl_call(repl, "session.branch", params, &result, err);
	if (r == 0) {
		cleanup_buf struct buf again = BUF_INIT(OUTCOME_BYTES);
		if (outcome_add_branched(&again, result) && !repl->args.quiet)
			fprintf(stderr, "%s\n", buf_str(&again));
		take_session(repl, result);
		snprintf(repl->name, sizeof repl->name, "%s", m->arg);
		repl->is_branched = true;
	}
	json_decref(result);
	return r;
}

static int do_switch(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *session = NULL;
	bool is_list = !m->arg[0];
	int r = repl_call(repl, is_list ? "session.list" : "session.get",
		is_list ? NULL : json_pack("{s:s}", "session", m->arg), &session, err);
	if (r == 0 && is_list)
		(void)session_print_list(session);
	else if (r == 0)
		take_session(repl, session);
	json_decref(session);
	return r;
}

static int do_log(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *log = NULL;
	bool is_all = m->arg[0] != '\0';
	int r = repl_call(repl, is_all ? "session.graph" : "session.log",
		is_all ? NULL : here(repl), &log, err);
	if (r == 0 && is_all)
		(void)session_print_graph(
			log, term_has_color(STDOUT_FILENO, (enum term_color)repl->args.color));
	else if (r == 0)
		(void)session_print_log(log);
	json_decref(log);
	return r;
}

static int do_files(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *params = here(repl), *files = NULL;
	json_put_text(params, "path", m->arg);
	int r = repl_call(repl, "file.list", params, &files, err);
	if (r == 0)
		(void)session_print_files(files);
	json_decref(files);
	return r;
}

struct copy_from repl_copy(struct repl *repl)
{
	return (struct copy_from){.call = call_of, .arg = repl, .session = repl->session};
}

/* Find the path on the host to which the workspace file @path is copied: @dest, or the file's
 * own name in @dest if @dest is a directory. If @dest is NULL, it is the file's own name in the
 * working directory. */
static int find_place(const char *path, const char *dest, struct buf *out)
{
	const char *slash = strrchr(path, '/'), *home = getenv("HOME");
	const char *name = slash ? slash + 1 : path;
	struct stat st;
	int r = 0;
	if (dest && strncmp(dest, "~/", 2) == 0 && home)
		r = buf_add(out, home), dest++;
	if (r == 0)
		r = buf_add(out, dest ? dest : name);
	if (r < 0 || !dest || stat(buf_str(out), &st) < 0 || !S_ISDIR(st.st_mode))
		return r;
	return buf_addf(out, "/%s", name);
}

static int do_get(struct repl *repl, const struct magic *m, struct err *err)
{
	const struct copy_from from = repl_copy(repl);
	cleanup_buf struct buf place = BUF_INIT(PATH_MAX), data = BUF_INIT(FILE_MAX_BYTES);
	if (find_place(m->arg, m->second, &place) < 0)
		return err_set(err, ERR_USAGE, "%%get: a path that is too long");
	int r = copy_read(&from, m->arg, &data, err);
	if (r == 0 && m->is_forced)
		r = outdir_put_at(buf_str(&place), buf_str(&data), data.bytes, err);
	else if (r == 0)
		r = outdir_put_new(buf_str(&place), buf_str(&data), data.bytes, err);
	if (r == -EEXIST)
		return err_hint(err,
			"name another place, or replace it: %%get --force %.100s%s%.100s", m->arg,
			m->second ? " " : "", m->second ? m->second : "");
	if (r < 0 && err->code == ERR_ACCESS)
		return err_hint(
			err, "name a place that you may write to: %%get %.100s DEST", m->arg);
	if (r == 0 && !repl->args.quiet)
		fprintf(stderr, "%s: %s\n", buf_str(&place), num_format_bytes(data.bytes).text);
	return r;
}

static int do_put(struct repl *repl, const struct magic *m, struct err *err)
{
	const struct copy_from from = repl_copy(repl);
	int r = copy_put(&from, m->arg, m->second, err);
	if (r < 0 && err->code == ERR_LIMIT)
		return err_hint(err, "show it to the session from the start: retort repl -v FILE");
	return r;
}

static int do_runtime(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *info = NULL;
	int r = repl_call(repl, "engine.info", NULL, &info, err);
	const char *names = session_text(info, "runtimes"), *known = param_language(m->arg);
	const char *name = known ? known : m->arg;
	if (r == 0 && !m->arg[0])
		printf("%s (one of %s)\n", repl->runtime, names);
	else if (r == 0 && !magic_is_listed(names, name)) {
		r = err_set(err, ERR_RUNTIME, "no runtime %.60s here", m->arg);
		(void)err_hint(err, "choose one of %s", names);
	} else if (r == 0)
		snprintf(repl->runtime, sizeof repl->runtime, "%s", name);
	json_decref(info);
	return r;
}

static int do_time(struct repl *repl, const struct magic *m, struct err *err)
{
	(void)err;
	repl_step(repl, m->arg, true);
	return 0;
}

static int do_reset(struct repl *repl, const struct magic *m, struct err *err)
{
	json_t *result = NULL;
	(void)m;
	/* Ignore an error: after an earlier %reset that failed, no session exists. */
	(void)repl_call(repl, "session.close", here(repl), &result, err);
	json_decref(result);
	json_put_text(repl->create, "name", repl->name);
	return repl_create(repl, err);
}

static int do_help(struct repl *repl attr_unused, const struct magic *m attr_unused,
	struct err *err attr_unused)
{
	size_t width = 0;
	for (int i = 0; i < MAGIC_END_; i++)
		width = MAX(width, strlen(magic_rows[i].name) + strlen(magic_rows[i].arg));
	for (int i = 0; i < MAGIC_END_; i++) {
		const struct magic_row *row = &magic_rows[i];
		printf("%%%s %-*s  %s\n", row->name, (int)(width - strlen(row->name)), row->arg,
			row->help);
	}
	puts("Tab completes a name. Ctrl-C stops the step, Ctrl-D leaves.");
	return 0;
}

static int do_quit(struct repl *repl, const struct magic *m, struct err *err)
{
	(void)m;
	(void)err;
	repl->is_leaving = true;
	return 0;
}

void repl_command(struct repl *repl, const char *line)
{
	/* ORDER enum magic_kind */
	static int (*const rows[MAGIC_END_])(struct repl * repl, const struct magic *m,
		struct err *err) = {do_undo, do_branch, do_switch, do_log, do_files, do_get, do_put,
		do_runtime, do_time, do_reset, do_help, do_quit};
	struct magic m = {.text = NULL};
	struct err err;
	int r = magic_parse(line, &m, &err);
	if (r == 0)
		r = rows[m.kind](repl, &m, &err);
	(void)fflush(stdout);
	free(m.text);
	if (r < 0) {
		wording_apply(&err, WORDING_REPL);
		(void)cli_fail(&err, false);
		repl->failures++;
	}
}

/* Return paths of the host that complete the last word of @text. */
static json_t *complete_host(const char *text)
{
	json_t *names = json_array();
	glob_t found = {0};
	char pattern[PATH_MAX];
	const char *word = text + strlen(text);
	while (word > text && !strchr(" \t'\"", word[-1]))
		word--;
	int n = snprintf(pattern, sizeof pattern, "%s*", word);
	if (n < (int)sizeof pattern && glob(pattern, GLOB_MARK, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && i < HOST_NAMES; i++)
			json_add_text(names, found.gl_pathv[i]);
	globfree(&found);
	return json_pack("{s:o}", "names", names);
}

json_t *repl_complete_command(struct repl *repl, const char *text)
{
	enum magic_kind kind = magic_at(text);
	bool is_files = kind == MAGIC_GET || kind == MAGIC_FILES;
	const char *method = kind == MAGIC_RUNTIME ? "engine.info"
		: kind == MAGIC_SWITCH		   ? "session.list"
		: is_files			   ? "file.list"
						   : NULL;
	json_t *result = NULL, *params = is_files ? here(repl) : NULL;
	struct err err;
	if (kind == MAGIC_PUT)
		return complete_host(text);
	if (method && repl_call(repl, method, params, &result, &err) < 0)
		return NULL;
	json_t *names = json_pack("{s:o}", "names", magic_names(kind, result));
	json_decref(result);
	return names;
}
