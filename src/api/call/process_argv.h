/* What `process.start` is to start: its program, arguments, environment and name.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct session;

/* Begins as zeros. */
struct process_argv {
	const char **argv, **more;
	char **envp;
	json_t *held; /* variables as NAME=VALUE, to which `more` points */
};

/* Read the parameters, to which the result points. The caller calls process_argv_done() also after
 * an error. Errors: ERR_USAGE; as session_environment(). */
int process_argv_read(struct process_argv *s, const json_t *params, const struct session *session,
	bool is_terminal, struct err *err);

void process_argv_done(struct process_argv *s);
