/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct err_row {
	const char *word;
	const char *meaning;
	int sys, http, rpc, exit_status;
};

static const struct err_row *row_of(enum err_code code)
{
	static const struct err_row rows[ERR_END_] = {
#define X(symbol, word, sys, http, rpc, exit_status, meaning)                                      \
	[symbol] = {word, meaning, sys, http, rpc, exit_status},
#include "base/err.def"
#undef X
	};
	return &rows[(unsigned)code < ERR_END_ ? code : ERR_INTERNAL];
}

static int err_result(const struct err *err)
{
	int sys = err->sys ? err->sys : err_errno(err->code);
	return sys > 0 ? -sys : -EINVAL;
}

__attribute__((format(printf, 3, 0))) static int set(
	struct err *err, struct err made, const char *fmt, va_list ap)
{
	char msg[ERR_MSG_BYTES]; /* a copy, because the arguments may point into err->msg */
	int n = vsnprintf(msg, sizeof msg, fmt, ap), sys = made.sys;
	*err = made;
	memcpy(err->msg, msg, n >= 0 ? sizeof msg : 0);
	if (sys && n >= 0 && (size_t)n < sizeof err->msg)
		snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", strerror(sys));
	if (sys == EMFILE && !err->hint[0])
		err_hint(err, "close some sessions, or start the engine with a higher `ulimit -n`");
	return err_result(err);
}

int err_set_at(struct err *err, enum err_code code, int sys, const char *file, int line,
	const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int r = set(
		err, (struct err){.code = code, .sys = sys, .file = file, .line = line}, fmt, ap);
	va_end(ap);
	return r;
}

/* NOLINTNEXTLINE(readability-function-size): an error with its place */
int err_fail_at(struct err *err, enum err_code code, int sys, const char *hint, const char *file,
	int line, const char *fmt, ...)
{
	struct err made = {.code = code, .sys = sys, .file = file, .line = line};
	va_list ap;
	snprintf(made.hint, sizeof made.hint, "%s", hint);
	va_start(ap, fmt);
	int r = set(err, made, fmt, ap);
	va_end(ap);
	return r;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char both[2 * ERR_MSG_BYTES + 2];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(both, ERR_MSG_BYTES, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_result(err);
	size_t bytes = strlen(both);
	snprintf(both + bytes, sizeof both - bytes, ": %.*s", ERR_MSG_BYTES - 1, err->msg);
	memcpy(err->msg, both, sizeof err->msg);
	err->msg[sizeof err->msg - 1] = '\0';
	return err_result(err);
}

int err_hint(struct err *err, const char *fmt, ...)
{
	char hint[ERR_HINT_BYTES] = "";
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(hint, sizeof hint, fmt, ap);
	va_end(ap);
	memcpy(err->hint, hint, sizeof hint);
	return err_result(err);
}

void err_check(struct err *err)
{
	if ((unsigned)err->code >= ERR_END_ || err->code == ERR_NONE)
		err->code = ERR_INTERNAL;
	if (err->sys < 0 || err->sys > 4095)
		err->sys = 0;
	err->file = NULL;
	err->msg[sizeof err->msg - 1] = '\0';
	err->hint[sizeof err->hint - 1] = '\0';
}

const char *err_word(enum err_code code)
{
	return row_of(code)->word;
}

const char *err_meaning(enum err_code code)
{
	return row_of(code)->meaning;
}

int err_errno(enum err_code code)
{
	return row_of(code)->sys;
}

int err_http(enum err_code code)
{
	return row_of(code)->http;
}

int err_rpc(enum err_code code)
{
	return row_of(code)->rpc;
}

int err_exit(enum err_code code)
{
	return row_of(code)->exit_status;
}
