/* Declarations that the files of `retort repl` share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/service.h"
#include "cli/repl/answer.h"
#include "cli/approver.h"
#include "cli/box.h"
#include "cli/session/copy.h"
#include "api/text/magic.h"
#include "cli/repl/reader.h"
#include "cli/view.h"

#include <limits.h>
#include <stdbool.h>

enum { REPL_SESSION_BYTES = 80, REPL_NAME_BYTES = 32 };

struct repl_args {
	struct box_args box;
	const char *tools, *out;
	bool no_history, quiet, help;
	int images, color;
};

struct repl {
	struct repl_args args;
	struct opt_set set;
	struct service *service;
	struct reader reader;
	struct approver approver;
	struct answer answer;
	bool can_ask;
	struct view view;
	int out_fd;	/* descriptor of the directory of --out; -1: not used */
	json_t *create; /* parameters of session.create; %reset uses them again */
	char session[REPL_SESSION_BYTES], name[REPL_SESSION_BYTES], runtime[REPL_NAME_BYTES];
	char history[PATH_MAX];
	bool is_leaving;
	/* %branch was used. From then on, the prompt shows the name of the session. */
	bool is_branched;
	int failures; /* number of failed statements and commands */
	bool is_gone; /* the engine or the session has ended, so no step can run */
	int ended_by; /* the signal that ends the REPL; 0: none */
};

/* Call an operation of the engine in this process. Owns: the reference to @params is taken; the
 * caller decrefs *@result. */
int repl_call(
	struct repl *repl, const char *method, json_t *params, json_t **result, struct err *err);

/* Create a session with the parameters `create`, and use it from now on. */
int repl_create(struct repl *repl, struct err *err);

/* Run a statement and show its result. */
void repl_step(struct repl *repl, const char *code, bool with_time);

/* Run a command, which is a line for which magic_is() is true. Errors are reported on stderr. */
void repl_command(struct repl *repl, const char *line);

/* Return the functions for copying files between the host and the current session. They borrow
 * @repl. */
struct copy_from repl_copy(struct repl *repl);

/* Return names that complete a command's argument at the end of @text, as step.complete returns
 * them; or NULL. */
json_t *repl_complete_command(struct repl *repl, const char *text);
