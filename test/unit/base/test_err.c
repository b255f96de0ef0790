/* SPDX-License-Identifier: Apache-2.0 */
#include "t.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

TEST(err_sets_code_place_and_message)
{
	struct err err;
	memset(&err, 'x', sizeof err);
	CHECK_INT(err_set(&err, ERR_LIMIT, "frame of %d bytes", 9), -E2BIG);
	CHECK_INT(err.code, ERR_LIMIT);
	CHECK_INT(err.sys, 0);
	CHECK_INT(err.line, __LINE__ - 3);
	CHECK_HAS(err.file, "test_err.c");
	CHECK_STR(err.msg, "frame of 9 bytes");
	CHECK_STR(err.hint, "");
}

TEST(err_tells_the_errno)
{
	struct err err;
	CHECK_INT(err_sys(&err, ERR_IO, ENOSPC, "write %s", "f"), -ENOSPC);
	CHECK_INT(err.sys, ENOSPC);
	CHECK_STR(err.msg, "write f: No space left on device");
	CHECK_STR(err.hint, "");
	CHECK_INT(err_sys(&err, ERR_BOX, EMFILE, "pipe"), -EMFILE);
	CHECK_STR(err.msg, "pipe: Too many open files");
	CHECK_HAS(err.hint, "`ulimit -n`"); /* what it takes to get on is the same everywhere */
}

TEST(err_wraps_and_hints)
{
	struct err err;
	(void)err_sys(&err, ERR_IO, ENOENT, "open");
	CHECK_INT(err_hint(&err, "make %s", "it"), -ENOENT);
	CHECK_INT(err_wrap(&err, "config %s", "c.json"), -ENOENT);
	CHECK_STR(err.msg, "config c.json: open: No such file or directory");
	CHECK_STR(err.hint, "make it");
	CHECK_INT(err.code, ERR_IO);
}

TEST(err_takes_its_own_texts)
{
	struct err err;
	(void)err_set(&err, ERR_IO, "inner");
	(void)err_wrap(&err, "not %s", err.msg);
	CHECK_STR(err.msg, "not inner: inner");
	(void)err_hint(&err, "see %s", err.msg);
	(void)err_hint(&err, "or %s", err.hint);
	CHECK_STR(err.hint, "or see not inner: inner");
	(void)err_set(&err, ERR_BOX, "again %s", err.msg);
	CHECK_STR(err.msg, "again not inner: inner");
}

TEST(err_cuts_long_messages)
{
	struct err err;
	char text[2 * ERR_MSG_BYTES];
	memset(text, 'm', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	CHECK_INT(err_sys(&err, ERR_IO, EIO, "%s", text), -EIO);
	CHECK_INT(strlen(err.msg), ERR_MSG_BYTES - 1);
	(void)err_hint(&err, "%s", text);
	CHECK_INT(strlen(err.hint), ERR_HINT_BYTES - 1);
	(void)err_wrap(&err, "%s", text);
	CHECK_INT(strlen(err.msg), ERR_MSG_BYTES - 1);
	(void)err_set(&err, ERR_IO, "short");
	(void)err_wrap(&err, "%.*s", ERR_MSG_BYTES - 3, text);
	CHECK_INT(strlen(err.msg), ERR_MSG_BYTES - 1);
}

TEST(err_makes_a_stranger_safe)
{
	struct err err;
	memset(&err, 0xff, sizeof err);
	err_check(&err);
	CHECK_INT(err.code, ERR_INTERNAL);
	CHECK_INT(err.sys, 0);
	CHECK(!err.file);
	CHECK_INT(strlen(err.msg), ERR_MSG_BYTES - 1);
	CHECK_INT(strlen(err.hint), ERR_HINT_BYTES - 1);
	err.code = ERR_NONE;
	err.sys = 4096;
	err_check(&err);
	CHECK_INT(err.code, ERR_INTERNAL);
	CHECK_INT(err.sys, 0);
	err.code = ERR_GONE;
	err.sys = EPIPE;
	err_check(&err);
	CHECK_INT(err.code, ERR_GONE);
	CHECK_INT(err.sys, EPIPE);
}

TEST(err_rows_are_complete_and_distinct)
{
	for (int a = ERR_NONE; a < ERR_END_; a++) {
		enum err_code code = (enum err_code)a;
		CHECK(err_word(code)[0] != '\0');
		CHECK(err_meaning(code)[0] != '\0');
		CHECK((code == ERR_NONE) == (err_exit(code) == 0));
		CHECK((code == ERR_NONE) == (err_errno(code) == 0));
		CHECK((code == ERR_NONE) == (err_rpc(code) == 0));
		CHECK(code == ERR_NONE || (err_http(code) >= 400 && err_http(code) < 600));
		for (int b = a + 1; b < ERR_END_; b++) {
			CHECK(strcmp(err_word(code), err_word((enum err_code)b)) != 0);
			CHECK(err_rpc(code) != err_rpc((enum err_code)b));
		}
	}
	CHECK_STR(err_word(ERR_USAGE), "usage");
	CHECK_INT(err_exit(ERR_USAGE), 2);
	CHECK_STR(err_word((enum err_code)ERR_END_), "internal");
	CHECK_STR(err_word((enum err_code)9999), "internal");
}

TEST(err_fails_with_a_hint_in_one)
{
	struct err err = {.hint = "old"};
	CHECK_INT(err_fail(&err, ERR_BUSY, "wait 5 % of it", "%s is taken", "it"), -EBUSY);
	CHECK_INT(err.code, ERR_BUSY);
	CHECK_STR(err.msg, "it is taken");
	CHECK_STR(err.hint, "wait 5 % of it");
	CHECK(err.line > 0 && err.file);
	CHECK_INT(err_fail_sys(&err, ERR_IO, EACCES, "chmod it", "read %d", 1), -EACCES);
	CHECK_STR(err.msg, "read 1: Permission denied");
	CHECK_STR(err.hint, "chmod it");
	/* Both may be of the error itself. */
	(void)err_fail(&err, ERR_IO, err.hint, "again: %s", err.msg);
	CHECK_STR(err.msg, "again: read 1: Permission denied");
	CHECK_STR(err.hint, "chmod it");
}
