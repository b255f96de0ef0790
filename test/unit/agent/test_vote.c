/* Which candidate wins, and by what. SPDX-License-Identifier: Apache-2.0 */
#include "agent/answer/vote.h"

#include "t.h"

#include <stdlib.h>
#include <string.h>

/* @ballots: a letter for the rank (n, f, g, p; a capital for an answer), then the value; blanks
 * between. */
static void check_vote(const char *ballots, size_t winner, size_t n_votes, const char *reason)
{
	static const char letters[] = "nfgp";
	struct ballot v[8];
	struct vote vote;
	size_t n = 0;
	char copy[200], *rest = copy;
	(void)strcpy(copy, ballots);
	for (char *word; (word = strtok_r(rest, " ", &rest));) {
		char small = (char)(word[0] | 0x20);
		v[n++] = (struct ballot){.rank = (enum vote_rank)(strchr(letters, small) - letters),
			.is_answer = small != word[0],
			.value = word + 1};
	}
	if (!CHECK(vote_count(v, n, &vote)))
		return;
	if (!CHECK_INT(vote.winner, winner) || !CHECK_INT(vote.n_votes, n_votes) ||
		!CHECK_STR(vote_reason(v, &vote), reason))
		printf("# %s\n", ballots);
}

TEST(most_of_the_best_win)
{
	check_vote("g1 g2 g2", 1, 2, "majority");
	check_vote("g1 g1 g2 g2", 0, 2, "majority");
	check_vote("g1 g2 g3", 0, 1, "first");
	check_vote("f1 f1 g2", 2, 1, "success");
	check_vote("g1 g1 p2", 2, 1, "check");
	check_vote("p1 p2 p2 g3 g3 g3", 1, 2, "majority");
	check_vote("n g1 n", 1, 1, "only");
	check_vote("f1 f2 f2", 1, 2, "majority");
}

TEST(of_those_that_agree_an_answer_wins)
{
	check_vote("g1 g2 G2 G2", 2, 3, "majority");
	check_vote("g1 G2", 0, 1, "first");
}

TEST(what_says_nothing_agrees_with_none)
{
	check_vote("g g g1 g1", 2, 2, "majority");
	check_vote("g g g1", 0, 1, "first");
}

TEST(none_stands)
{
	const struct ballot v[] = {{.rank = VOTE_NONE, .value = "1"}, {.rank = VOTE_NONE}};
	struct vote vote;
	CHECK(!vote_count(v, 2, &vote));
	CHECK(!vote_count(v, 0, &vote));
}

static void check_text(const char *text, const char *wanted)
{
	char *is = vote_text(text);
	CHECK_STR(is, wanted);
	free(is);
}

TEST(equal_texts)
{
	check_text("42", "42");
	check_text(" 42.0\n", "42");
	check_text("-0.0", "0");
	check_text("1e3", "1000");
	check_text("0.1", "0.1");
	check_text("0.30000000000000004", "0.3");
	check_text("{\"b\": [1.0, null], \"a\": {\"d\": 1, \"c\": \"x\"}}",
		"{\"a\":{\"c\":\"x\",\"d\":1},\"b\":[1,null]}");
	check_text("  It \n is\t 42. ", "It is 42.");
	check_text("", "");
	check_text("{\"a\": 1, \"a\": 2}", "{\"a\": 1, \"a\": 2}");
}

static void check_record(const char *json, const char *wanted)
{
	json_t *record = json_loads(json, 0, NULL);
	CHECK(record != NULL);
	char *is = vote_record(record);
	CHECK_STR(is, wanted);
	free(is);
	json_decref(record);
}

TEST(what_a_record_says)
{
	check_record("{\"status\": \"ok\", \"stdout\": \" 7 \\n\"}", "7");
	check_record(
		"{\"status\": \"ok\", \"stdout\": \"x\", \"value\": {\"text/plain\": \"[1, 2]\"}}",
		"[1,2]");
	check_record("{\"status\": \"ok\", \"value\": {\"text/plain\": \"42.0\", "
		     "\"application/json\": 42.0}}",
		"42");
	check_record("{\"status\": \"ok\", \"value\": {\"text/plain\": \"1\"}, \"displays\": "
		     "[{\"text/plain\": \"2\", \"application/vnd.retort.answer+json\": {}}]}",
		"2");
	check_record("{\"status\": \"ok\", \"value\": {\"application/json\": \"42\"}}", "42");
	check_record(
		"{\"status\": \"error\", \"stdout\": \"7\", \"error\": {\"name\": \"KeyError\", "
		"\"message\": \"'x'\"}}",
		"KeyError: 'x'");
	check_record("{\"status\": \"timeout\"}", "timeout:");
	check_record("{\"status\": \"ok\"}", "");
}

TEST(what_is_too_deep_is_as_it_was_written)
{
	char deep[1001] = "", *is;
	memset(deep, '[', 500);
	memset(deep + 500, ']', 500);
	is = vote_text(deep);
	CHECK_STR(is, deep);
	free(is);
}
