/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call/process_argv.h"

#include "api/call/inside.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/processes.h"

#include <stdlib.h>
#include <string.h>

void process_argv_done(struct process_argv *s)
{
	free(s->argv);
	free(s->more);
	session_free_environment(s->envp);
	json_decref(s->held);
}

static int read_argv(
	struct process_argv *s, const json_t *params, bool is_terminal, struct err *err)
{
	static const char *const login[] = {"/bin/sh", "-c",
		"if [ -x /bin/bash ]; then exec /bin/bash -l; fi; exec /bin/sh -l"};
	const json_t *argv = param_get(params, "argv");
	const char *command = param_text(params, "command", NULL);
	size_t n = json_array_size(argv);
	if (argv && command)
		return err_fail(err, ERR_USAGE, "give one of them",
			"`argv`: given together with `command`");
	if (!n && !command && !is_terminal)
		return err_fail(err, ERR_USAGE, "for example {\"argv\": [\"ls\", \"-l\"]}",
			"which program: `argv` or `command`");
	s->argv = xcalloc(MAX(n, (size_t)3) + 1, sizeof *s->argv);
	for (size_t i = 0; i < n; i++)
		s->argv[i] = json_string_value(json_array_get(argv, i));
	for (size_t i = 0; !n && i < ARRAY_LEN(login); i++)
		s->argv[i] = command && i == 2 ? command : login[i];
	if (n && !s->argv[0][0])
		return err_fail(err, ERR_USAGE, "the first element names the program",
			"`argv`: the program has an empty name");
	return 0;
}

static void add_variable(struct process_argv *s, size_t *n, const char *name, const char *value)
{
	json_t *variable = json_sprintf("%s=%s", name, value);
	json_add_new(s->held, variable);
	if (variable)
		s->more[(*n)++] = json_string_value(variable);
}

static int read_variables(
	struct process_argv *s, const json_t *params, bool is_terminal, struct err *err)
{
	json_t *env = json_unconst(param_get(params, "env"));
	const char *name;
	json_t *value;
	size_t n = 0;
	s->held = json_need(json_array());
	s->more = xcalloc(json_object_size(env) + 2, sizeof *s->more);
	json_object_foreach(env, name, value)
	{
		if (!*name || strchr(name, '='))
			return err_fail(err, ERR_USAGE, "a name without \"=\", such as PATH",
				"`env`: the name \"%.64s\"", name);
		add_variable(s, &n, name, json_string_value(value));
	}
	if (is_terminal && !(env && json_object_get(env, "TERM")))
		add_variable(s, &n, "TERM", param_text(params, "term", "xterm-256color"));
	return 0;
}

static int check_name(const char *name, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(SESSION_NAME_BYTES * 10);
	if (!name)
		return 0;
	int r = utf8_escape_terminal(&shown, name, strlen(name), UTF8_ONE_LINE);
	if (r == 0 && strcmp(buf_str(&shown), name) == 0 && name[0] != '-')
		return 0;
	return err_fail(err, ERR_USAGE, "letters, digits, dots and dashes are fine",
		"`name`: a process's name has no control or invisible characters, and does not "
		"begin with \"-\"");
}

int process_argv_read(struct process_argv *s, const json_t *params, const struct session *session,
	bool is_terminal, struct err *err)
{
	int r = check_name(param_text(params, "name", NULL), err);
	if (r == 0)
		r = read_argv(s, params, is_terminal, err);
	if (r == 0)
		r = read_variables(s, params, is_terminal, err);
	if (r == 0 && !(s->envp = session_environment(session, s->more, err)))
		r = -1;
	return r;
}
