/* Errors: a code for programs to compare, and a sentence to show. SPDX-License-Identifier:
 * Apache-2.0 */
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
 * An error has a fixed size and no pointer to the heap, so a process may write it to a pipe. The
 * process that reads it calls err_check() first.
 *
 * Owns: nothing. `file` is only valid in the process that set it, so err_check() clears it.
 */
struct err {
	enum err_code code;
	int sys;  /* the errno that caused the error, or 0 */
	int line; /* source line that set the error */
	const char *file;
	char msg[ERR_MSG_BYTES];   /* "subject: problem", lower case, no final stop */
	char hint[ERR_HINT_BYTES]; /* what the user can do, or "" */
};

/*
 * Record a failure and return it in one line: `return err_set(err, …);`
 *
 * err_sys() also records @sys, an errno, and appends its description to the message. For EMFILE it
 * sets a hint about `ulimit -n`.
 * Limits: the message is cut at ERR_MSG_BYTES.
 * Returns: the negative errno of @code; for err_sys() the negative of @sys.
 */
#define err_set(err, code, ...)                                                                    \
	err_negative(err_set_at((err), (code), 0, __FILE__, __LINE__, __VA_ARGS__))
#define err_sys(err, code, sys, ...)                                                               \
	err_negative(err_set_at((err), (code), (sys), __FILE__, __LINE__, __VA_ARGS__))

/* Return @r, or -1 if @r is not negative. This tells compilers and analysers that the result of
 * a failure is always negative. */
static inline int err_negative(int r)
{
	return r < 0 ? r : -1;
}

int err_set_at(struct err *err, enum err_code code, int sys, const char *file, int line,
	const char *fmt, ...) attr_printf(6, 7);

/* Record a failure with a hint: `return err_fail(err, code, hint, …);`. @hint is a constant
 * text. For a formatted hint, call err_set() and then err_hint(). */
#define err_fail(err, code, hint, ...)                                                             \
	err_negative(err_fail_at((err), (code), 0, (hint), __FILE__, __LINE__, __VA_ARGS__))
#define err_fail_sys(err, code, sys, hint, ...)                                                    \
	err_negative(err_fail_at((err), (code), (sys), (hint), __FILE__, __LINE__, __VA_ARGS__))

int err_fail_at(struct err *err, enum err_code code, int sys, const char *hint, const char *file,
	int line, const char *fmt, ...) attr_printf(7, 8);

/* err_wrap() puts "context: " before the message. err_hint() sets the hint. Both return the
 * negative errno of the error. */
int err_wrap(struct err *err, const char *fmt, ...) attr_printf(2, 3);
int err_hint(struct err *err, const char *fmt, ...) attr_printf(2, 3);

/* Make an error that came from another process safe to use: replace a code or an errno out of
 * range, terminate the texts, clear `file`. */
void err_check(struct err *err);

/* Return one column of the error table. A code out of range is treated as ERR_INTERNAL. */
const char *err_word(enum err_code code);
const char *err_meaning(enum err_code code);
int err_errno(enum err_code code);
int err_http(enum err_code code);
int err_rpc(enum err_code code);
int err_exit(enum err_code code);
