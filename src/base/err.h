/* Errors: a code to branch on, and a sentence to show. SPDX-License-Identifier: Apache-2.0 */
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
 * An error has a fixed size and no pointer to the heap: a process may write it to a pipe, and the
 * reader may use it after err_check().
 *
 * Owns: nothing; `file` is only valid in the process that set it, and err_check() clears it.
 */
struct err {
	enum err_code code;
	int sys;  /* the errno that caused the error, or 0 */
	int line; /* source line that set the error */
	const char *file;
	char msg[ERR_MSG_BYTES];   /* "what: which value", lower case, no final stop */
	char hint[ERR_HINT_BYTES]; /* what the user can do, or empty */
};

/*
 * Record a failure and return it in one line: `return err_set(err, …);`
 * Limits: the message is cut at ERR_MSG_BYTES.
 * Returns: the negative errno of @code; for err_sys() the negative of @sys. EMFILE gets a hint
 * automatically.
 */
#define err_set(err, code, ...)                                                                    \
	err_negative(err_set_at((err), (code), 0, __FILE__, __LINE__, __VA_ARGS__))
#define err_sys(err, code, sys, ...)                                                               \
	err_negative(err_set_at((err), (code), (sys), __FILE__, __LINE__, __VA_ARGS__))

/* Tell compilers and analysers that the result of a failure is always negative. */
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

/* err_wrap(): put "context: " before the message. err_hint(): set the hint. Both return the
 * negative errno that the error already had. */
int err_wrap(struct err *err, const char *fmt, ...) attr_printf(2, 3);
int err_hint(struct err *err, const char *fmt, ...) attr_printf(2, 3);

/* Make an error from another process safe to print: put the code into range, terminate the
 * texts, clear `file`. */
void err_check(struct err *err);

/* Return a column of the error table. A code out of range is treated as ERR_INTERNAL. */
const char *err_word(enum err_code code);
const char *err_meaning(enum err_code code);
int err_errno(enum err_code code);
int err_http(enum err_code code);
int err_rpc(enum err_code code);
int err_exit(enum err_code code);
