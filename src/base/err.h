/* An error: one integer to branch on, one sentence to show. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdarg.h>

enum err_code {
#define X(symbol, word, sys, http, rpc, exit_status, meaning) symbol,
#include "base/err.def"
#undef X
	ERR_END_
};

enum { ERR_MSG_BYTES = 256, ERR_HINT_BYTES = 256 };

/*
 * Fixed size, no pointer to heap: a process may write it to a pipe as it is, and the reader may
 * use it after err_check().
 *
 * Owns: nothing; `file` is only meaningful in the process that set it, and err_check() clears it.
 */
struct err {
	enum err_code code;
	int sys;  /* the errno behind it, or 0 */
	int line; /* where it was set */
	const char *file;
	char msg[ERR_MSG_BYTES];   /* "what: which value", lower case, no final stop */
	char hint[ERR_HINT_BYTES]; /* a hint: what the user can do, or empty */
};

/*
 * Record a failure and return it, so that each failure is one line: `return err_set(err, …);`
 * Limits:  the message is cut at ERR_MSG_BYTES.
 * Returns: the negative errno of @code; for err_sys() the negative of @sys. EMFILE gets a hint
 *          by itself.
 */
#define err_set(err, code, ...)                                                                    \
	err_negative(err_set_at((err), (code), 0, __FILE__, __LINE__, __VA_ARGS__))
#define err_sys(err, code, sys, ...)                                                               \
	err_negative(err_set_at((err), (code), (sys), __FILE__, __LINE__, __VA_ARGS__))

/* The return value as an expression, so that compilers and analysers see that every failure is
 * negative. */
static inline int err_negative(int r)
{
	return r < 0 ? r : -1;
}

int err_set_at(struct err *err, enum err_code code, int sys, const char *file, int line,
	const char *fmt, ...) attr_printf(6, 7);

/*
 * Record a failure with a hint: `return err_fail(err, code, hint, …);`. @hint is a constant text;
 * err_hint() formats one.
 */
#define err_fail(err, code, hint, ...)                                                             \
	err_negative(err_fail_at((err), (code), 0, (hint), __FILE__, __LINE__, __VA_ARGS__))
#define err_fail_sys(err, code, sys, hint, ...)                                                    \
	err_negative(err_fail_at((err), (code), (sys), (hint), __FILE__, __LINE__, __VA_ARGS__))

int err_fail_at(struct err *err, enum err_code code, int sys, const char *hint, const char *file,
	int line, const char *fmt, ...) attr_printf(7, 8);

/* Put "context: " before the message; set the hint. Both return the negative errno that the error
 * already had. */
int err_wrap(struct err *err, const char *fmt, ...) attr_printf(2, 3);
int err_hint(struct err *err, const char *fmt, ...) attr_printf(2, 3);

/*
 * Make an error that came from another process safe to print: the code in range, the texts
 * terminated, `file` cleared.
 */
void err_check(struct err *err);

/* The table's columns. A code out of range counts as ERR_INTERNAL. */
const char *err_word(enum err_code code);
const char *err_meaning(enum err_code code);
int err_errno(enum err_code code);
int err_http(enum err_code code);
int err_rpc(enum err_code code);
int err_exit(enum err_code code);
