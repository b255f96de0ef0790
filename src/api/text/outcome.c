/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/outcome.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/utf8.h"

#include <string.h>

enum { LOST_SHOWN = 3 };

static void add_names(struct buf *b, const json_t *lost)
{
	size_t n = json_array_size(lost), n_shown = MIN(n, LOST_SHOWN);
	for (size_t i = 0; i < n_shown; i++) {
		const json_t *path = json_array_get(lost, i);
		const char *text = json_string_value(path);
		buf_add(b, i == 0 ? "" : ", ");
		if (text && strcmp(text, ".") != 0)
			(void)utf8_escape_terminal(
				b, text, json_string_length(path), UTF8_ONE_LINE);
		else
			buf_add(b, "files that are not kept");
	}
	if (n > n_shown)
		buf_addf(b, " and %zu more", n - n_shown);
}

void outcome_add_lost(struct buf *b, const json_t *result)
{
	const json_t *lost = json_object_get(result, "files_lost");
	const char *outcome = json_get_text(json_object_get(result, "state"), "outcome");
	bool is_again = strcmp(outcome, "replayed") == 0 || strcmp(outcome, "diverged") == 0;
	if (json_array_size(lost) == 0)
		return;
	buf_add(b, is_again ? "; not put back: " : ", but for ");
	add_names(b, lost);
}

bool outcome_add_again(struct buf *b, const json_t *result)
{
	const json_t *again = json_object_get(result, "runs_again");
	size_t i, n = json_array_size(again);
	json_t *name;
	if (n == 0)
		return false;
	json_array_foreach(again, i, name)
	{
		buf_addf(b, "%s%.20s", i == 0 ? "" : ", ", json_string_value(name));
	}
	buf_addf(b, " variables will be rebuilt, by running their steps again");
	return true;
}

bool outcome_add_branched(struct buf *b, const json_t *result)
{
	json_int_t n = json_integer_value(json_object_get(result, "processes_left"));
	bool is_again = outcome_add_again(b, result);
	if (is_again)
		buf_add(b, ", in both sessions");
	if (n > 0)
		buf_addf(b, "%s%lld process%s not in the branch", is_again ? "; " : "",
			(long long)n, n == 1 ? " is" : "es are");
	return is_again || n > 0;
}

/*
 * Append that variables and files are in the state @when, such as "as before this step". The text
 * also names the exceptions:
 * - It begins with the languages whose variables must be rebuilt by running steps again, if
 *   there are any.
 * - It ends with the files that are lost, if there are any.
 * For example: "python variables will be rebuilt, by running their steps again; files and other
 * variables are as before this step, but for a.csv".
 */
static void add_kept(struct buf *b, const json_t *result, const char *when)
{
	bool is_again = outcome_add_again(b, result);
	buf_addf(b, "%s are %s", is_again ? "; files and other variables" : "variables and files",
		when);
	outcome_add_lost(b, result);
}

void outcome_add_back(struct buf *b, const json_t *record)
{
	add_kept(b, record, "as before this step");
	if (strcmp(json_get_text(record, "runtime"), "sql") == 0)
		buf_add(b, "; temporary data of the database is gone");
}

void outcome_add_anew(struct buf *b, const json_t *record)
{
	buf_add(b,
		json_is_null(json_object_get(record, "parent"))
			? "the session starts afresh"
			: "the steps before this one are run again before the next");
}

void outcome_add_taken_back(struct buf *b, const json_t *record)
{
	static const struct {
		const char *undone, *text;
	} rows[] = {
		{"step", "what the step wrote"},
		{"part",
			"what the step wrote after its last BEGIN, COMMIT, PRAGMA or the like; what it "
			"did before is kept"},
		{"transaction", "the whole transaction, with what earlier steps wrote in it"},
	};
	const char *undone = json_get_text(json_object_get(record, "state"), "undone");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(undone, rows[i].undone) == 0)
			buf_add(b, rows[i].text);
}

bool outcome_is_plain_undo(const json_t *result)
{
	return strcmp(json_get_text(result, "outcome"), "rolled_back") == 0 &&
		!json_object_get(result, "files_lost") && !json_object_get(result, "runs_again");
}

void outcome_add_undone(struct buf *b, const json_t *result)
{
	const json_t *lost = json_object_get(result, "files_lost");
	const char *outcome = json_get_text(result, "outcome"),
		   *difference = json_get_text(result, "difference");
	if (strcmp(outcome, "rolled_back") == 0) {
		add_kept(b, result,
			json_get_text(result, "head")[0] ? "as after that step"
							 : "as at the beginning");
		return;
	}
	buf_add(b, "the state was rebuilt by running the earlier steps again, ");
	if (strcmp(outcome, "diverged") == 0) {
		buf_add(b, "and it may differ: ");
		(void)utf8_escape_terminal(b, difference, strlen(difference), UTF8_ONE_LINE);
	} else {
		buf_add(b, "with the same results");
	}
	if (json_array_size(lost) == 0)
		return;
	buf_add(b, "; not put back: ");
	add_names(b, lost);
}
