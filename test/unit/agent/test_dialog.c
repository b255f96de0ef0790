/* What is still told when much was said. SPDX-License-Identifier: Apache-2.0 */
#include "agent/loop/dialog.h"

#include "t.h"

#include <errno.h>

#include <stdio.h>
#include <string.h>

static void add(struct dialog *d, enum dialog_kind kind, const char *text)
{
	CHECK_INT(dialog_add(d, kind, text, strlen(text), NULL), 0);
}

/* @n exchanges of about 1000 tokens each, behind a system text and a task. */
static void fill(struct dialog *d, int n)
{
	char text[4000];
	add(d, DIALOG_SYSTEM, "system\nof two lines");
	add(d, DIALOG_TASK, "task\nof two lines");
	for (int i = 0; i < n; i++) {
		add(d, DIALOG_SAID, "I look\n```python\nx\n```");
		memset(text, 'y', sizeof text);
		text[sizeof text - 1] = '\0';
		snprintf(text, 32, "verdict %d\n", i);
		text[strlen(text)] = 'z';
		add(d, DIALOG_TOLD, text);
	}
}

TEST(nothing_is_cut_while_there_is_room)
{
	struct dialog d = DIALOG_INIT;
	fill(&d, 8);
	CHECK(dialog_tokens(&d) > 8000);
	CHECK_INT(dialog_compact(&d, 20000), 0);
	dialog_done(&d);
}

TEST(what_is_old_becomes_its_first_line)
{
	struct dialog d = DIALOG_INIT;
	fill(&d, 8);
	CHECK_INT(dialog_compact(&d, 6000), 4);
	CHECK(dialog_tokens(&d) <= 6000 * DIALOG_FULL_PCT / 100);
	CHECK_STR(d.entries[0].text, "system\nof two lines");
	CHECK_STR(d.entries[1].text, "task\nof two lines");
	CHECK_HAS(d.entries[3].text, "verdict 0\n[the rest was left out");
	CHECK_HAS(d.entries[2].text, "```python");
	CHECK(strlen(d.entries[11].text) > 3900);
	CHECK_INT(dialog_compact(&d, 6000), 0);
	dialog_done(&d);
}

TEST(the_last_exchanges_stay_whole)
{
	struct dialog d = DIALOG_INIT;
	fill(&d, 8);
	(void)dialog_compact(&d, 100);
	for (size_t i = d.n - 2 * DIALOG_WHOLE; i < d.n; i++)
		CHECK(!d.entries[i].is_cut);
	for (size_t i = 2; i < d.n - 2 * DIALOG_WHOLE; i++)
		CHECK(d.entries[i].is_cut);
	CHECK_STR(d.entries[1].text, "task\nof two lines");
	dialog_done(&d);
}

TEST(a_server_s_count_is_believed_when_it_is_more)
{
	struct dialog d = DIALOG_INIT;
	fill(&d, 4);
	uint64_t n = dialog_tokens(&d);
	dialog_counted(&d, n / 2);
	CHECK_INT(dialog_tokens(&d), n);
	dialog_counted(&d, 2 * n);
	CHECK(dialog_tokens(&d) >= 2 * n - n / 50);
	dialog_counted(&d, UINT64_MAX);
	CHECK(dialog_tokens(&d) < 20 * n);
	dialog_done(&d);
}

TEST(images_go_along_and_are_cut)
{
	struct dialog d = DIALOG_INIT;
	struct wire_request q = {0};
	json_t *images = json_pack("[{s:s, s:s}]", "mime", "image/png", "data", "aGk=");
	add(&d, DIALOG_TASK, "task");
	add(&d, DIALOG_SAID, "look");
	CHECK_INT(dialog_add(&d, DIALOG_TOLD, "seen", 4, images), 0);
	json_decref(images);
	for (int i = 0; i < DIALOG_WHOLE; i++) {
		add(&d, DIALOG_SAID, "a");
		add(&d, DIALOG_TOLD, "b");
	}
	CHECK_INT(dialog_question(&d, &q), 0);
	CHECK_INT(q.n_messages, d.n);
	CHECK_INT(q.messages[2].n_parts, 2);
	CHECK_INT(q.messages[2].parts[1].kind, PART_IMAGE);
	CHECK_STR(q.messages[2].parts[1].text, "aGk=");
	CHECK_INT(q.messages[3].role, ROLE_ASSISTANT);
	CHECK_STR(q.messages[3].parts[0].text, "a");
	dialog_question_done(&q);
	(void)dialog_compact(&d, 100);
	CHECK(d.entries[2].images == NULL);
	dialog_done(&d);
}

TEST(the_two_sides_take_turns)
{
	struct dialog d = DIALOG_INIT;
	struct wire_request q = {0};
	json_t *images = json_pack("[{s:s, s:s}]", "mime", "image/png", "data", "aGk=");
	add(&d, DIALOG_SYSTEM, "system");
	add(&d, DIALOG_TASK, "task");
	CHECK_INT(dialog_add(&d, DIALOG_TOLD, "seen", 4, images), 0);
	add(&d, DIALOG_TASK, "another");
	add(&d, DIALOG_SAID, "a");
	CHECK_INT(dialog_question(&d, &q), 0);
	CHECK_INT(q.n_messages, 3);
	CHECK_INT(q.messages[1].n_parts, 4);
	CHECK_INT(q.messages[1].parts[2].kind, PART_IMAGE);
	CHECK_STR(q.messages[1].parts[3].text, "another");
	CHECK_STR(q.messages[2].parts[0].text, "a");
	dialog_question_done(&q);
	json_decref(images);
	dialog_done(&d);
}

TEST(what_is_written_down_is_read_again)
{
	struct dialog d = DIALOG_INIT, again = DIALOG_INIT;
	json_t *images = json_pack("[{s:s, s:s}]", "mime", "image/png", "data", "aGk=");
	add(&d, DIALOG_SYSTEM, "system");
	add(&d, DIALOG_TASK, "task");
	add(&d, DIALOG_SAID, "a\xff");
	CHECK_INT(dialog_add(&d, DIALOG_TOLD, "old", 3, images), 0);
	CHECK_INT(dialog_add(&d, DIALOG_TOLD, "new", 3, images), 0);
	d.entries[2].is_cut = true;
	json_t *rows = dialog_json(&d, 4);
	CHECK_INT(dialog_read(&again, rows), 0);
	CHECK_INT(again.n, d.n);
	CHECK_STR(again.entries[2].text, "a\xef\xbf\xbd");
	CHECK(again.entries[2].is_cut);
	CHECK(again.entries[3].images == NULL); /* the older one: there was room for one */
	CHECK_INT(json_array_size(again.entries[4].images), 1);
	CHECK_INT(dialog_read(&(struct dialog){0}, json_array_get(rows, 0)), -EINVAL);
	json_decref(rows);
	json_decref(images);
	dialog_done(&d);
	dialog_done(&again);
}
