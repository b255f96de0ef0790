/* SPDX-License-Identifier: Apache-2.0 */
#include "regexp.h"

#include "base/attr.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>

enum { MESSAGE_BYTES = 200, HEAP_KIB_MAX = 64 << 10, MATCH_STEPS_MAX = 1000000 };

static void fail(sqlite3_context *ctx, int code)
{
	PCRE2_UCHAR why[MESSAGE_BYTES];
	if (pcre2_get_error_message(code, why, sizeof why) < 0)
		why[0] = '\0';
	char *text = sqlite3_mprintf("regexp: %s", (const char *)why);
	sqlite3_result_error(ctx, text ? text : "regexp: no memory", -1);
	sqlite3_free(text);
}

static void free_code(void *code)
{
	pcre2_code_free(code);
}

/*
 * Return the compiled pattern, or NULL on an error. SQLite keeps a compiled pattern for the next
 * row if the pattern is a constant. *@is_ours tells whether the pattern was compiled now. If so,
 * the caller must give it to SQLite to keep.
 */
static pcre2_code *compile(sqlite3_context *ctx, sqlite3_value *pattern, bool *is_ours)
{
	int code;
	size_t at;
	pcre2_code *found = sqlite3_get_auxdata(ctx, 0);
	*is_ours = !found;
	if (found)
		return found;
	const unsigned char *text = sqlite3_value_text(pattern);
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
	if (sqlite3_user_data(ctx))
		options |= PCRE2_CASELESS;
	found = text ? pcre2_compile(text, (size_t)sqlite3_value_bytes(pattern), options, &code,
			       &at, NULL)
		     : NULL;
	if (text && !found)
		fail(ctx, code);
	return found;
}

static void match(sqlite3_context *ctx, pcre2_code *code, sqlite3_value *subject)
{
	const unsigned char *text = sqlite3_value_text(subject);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	if (!text || !data || !limits) {
		sqlite3_result_error_nomem(ctx);
	} else {
		(void)pcre2_set_match_limit(limits, MATCH_STEPS_MAX);
		(void)pcre2_set_heap_limit(limits, HEAP_KIB_MAX);
		int n = pcre2_match(
			code, text, (size_t)sqlite3_value_bytes(subject), 0, 0, data, limits);
		if (n < 0 && n != PCRE2_ERROR_NOMATCH)
			fail(ctx, n);
		else
			sqlite3_result_int(ctx, n != PCRE2_ERROR_NOMATCH);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(limits);
}

static void regexp(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	bool is_ours;
	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
		sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return;
	pcre2_code *code = compile(ctx, argv[0], &is_ours);
	if (!code)
		return;
	match(ctx, code, argv[1]);
	if (is_ours)
		sqlite3_set_auxdata(ctx, 0, code, free_code);
}

int regexp_register(sqlite3 *db)
{
	static const char caseless[] = "i";
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function(db, "regexp", 2, flags, NULL, regexp, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(
			db, "regexpi", 2, flags, (void *)(uintptr_t)caseless, regexp, NULL, NULL);
	return rc;
}
