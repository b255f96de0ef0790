/* A rollback: every row of its table, and what has no row. SPDX-License-Identifier: Apache-2.0 */
#include "session/step/rollback.h"

#include "base/attr.h"
#include "t.h"

#include <stdio.h>
#include <string.h>

static const char *const causes[] = {"step", "undo", "revive"};
static const char *const states[] = {
	"idle", "ending", "files", "resuming", "host-ending", "host-files", "leaving"};
static const char *const events[] = {"stay", "leave", "leave-host", "clear", "ended", "restored",
	"frozen", "ready", "exited", "counted", "failed"};
static const char *const actions[] = {"", "end-processes", "drop-drivers", "put-files",
	"cancel-files", "name-files", "put-states", "tell-unkept", "resume", "finish", "change-box",
	"read-books", "lose", "tell", "tell-lost"};

/* "cause state event: next action …", all of them. What is missing is refused. */
static const char *const want[] = {
	"step idle stay: ending end-processes",
	"step idle leave: leaving name-files read-books",
	"step idle leave-host: host-ending end-processes",
	"step idle ended: idle",
	"step idle failed: idle lose tell-lost",
	"step ending clear: files put-files",
	"step ending ended: files drop-drivers put-files",
	"step ending ready: ending",
	"step ending exited: ending",
	"step ending failed: idle lose tell-lost",
	"step files restored: idle put-states tell-unkept finish read-books",
	"step files frozen: resuming put-states resume",
	"step files ready: files",
	"step files exited: files",
	"step files failed: idle lose tell-lost",
	"step resuming ready: idle finish read-books",
	"step resuming exited: idle lose tell-lost",
	"step resuming failed: idle lose tell-lost",
	"step host-ending clear: host-files put-files",
	"step host-ending ended: host-files drop-drivers put-files",
	"step host-ending failed: idle cancel-files name-files change-box tell",
	"step host-files restored: leaving read-books",
	"step host-files failed: idle cancel-files name-files change-box tell",
	"step leaving counted: idle change-box tell",
	"step leaving failed: leaving",

	"undo idle stay: ending end-processes",
	"undo idle leave: idle name-files change-box tell",
	"undo idle leave-host: host-ending end-processes",
	"undo idle ended: idle",
	"undo ending clear: files put-files",
	"undo ending ended: files drop-drivers put-files",
	"undo ending ready: ending",
	"undo ending exited: ending",
	"undo ending failed: idle lose tell-lost",
	"undo files restored: idle put-states tell-unkept finish tell",
	"undo files frozen: resuming put-states resume",
	"undo files ready: files",
	"undo files exited: files",
	"undo files failed: idle lose tell-lost",
	"undo resuming ready: idle finish tell",
	"undo resuming exited: idle lose tell-lost",
	"undo resuming failed: idle lose tell-lost",
	"undo host-ending clear: host-files put-files",
	"undo host-ending ended: host-files drop-drivers put-files",
	"undo host-ending failed: idle cancel-files name-files change-box tell",
	"undo host-files restored: idle change-box tell",
	"undo host-files failed: idle cancel-files name-files change-box tell",

	"revive idle stay: ending end-processes",
	"revive idle leave: idle change-box tell",
	"revive idle ended: idle",
	"revive ending clear: files put-files",
	"revive ending ended: files drop-drivers put-files",
	"revive ending ready: ending",
	"revive ending exited: ending",
	"revive ending failed: idle lose tell-lost",
	"revive files restored: idle put-states tell-unkept finish tell",
	"revive files frozen: resuming put-states resume",
	"revive files ready: files",
	"revive files exited: files",
	"revive files failed: idle lose tell-lost",
	"revive resuming ready: idle finish tell",
	"revive resuming exited: idle lose tell-lost",
	"revive resuming failed: idle lose tell-lost",
};

static void describe(char *out, size_t bytes, const char *at, const struct rollback_move *move)
{
	size_t n = (size_t)snprintf(out, bytes, "%s: %s", at, states[move->next]);
	for (size_t i = 0; i < ROLLBACK_ACTIONS_MAX && move->actions[i]; i++)
		n += (size_t)snprintf(out + n, bytes - n, " %s", actions[move->actions[i]]);
}

static const char *find(const char *at)
{
	size_t n = strlen(at);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		if (strncmp(want[i], at, n) == 0 && want[i][n] == ':')
			return want[i];
	return NULL;
}

/* A combination that is not in the list has no row, and changes nothing. */
static void check(int cause, int state, int event)
{
	const struct rollback_move before = {ROLLBACK_STATE_END_, {ROLLBACK_TELL}};
	struct rollback_move move = before;
	char at[80], got[200];
	snprintf(at, sizeof at, "%s %s %s", causes[cause], states[state], events[event]);
	const char *row = find(at);
	bool has_row = rollback_advance((enum rollback_cause)cause, (enum rollback_state)state,
		(enum rollback_event)event, &move);
	if (!CHECK_INT(has_row, row != NULL))
		printf("# %s: %s\n", at, has_row ? "a row that nobody expects" : "no row");
	if (has_row && row) {
		describe(got, sizeof got, at, &move);
		CHECK_STR(got, row);
	} else if (!has_row) {
		CHECK(memcmp(&move, &before, sizeof move) == 0);
	}
}

TEST(every_cause_state_and_event)
{
	CHECK_INT(ARRAY_LEN(causes), ROLLBACK_CAUSE_END_);
	CHECK_INT(ARRAY_LEN(states), ROLLBACK_STATE_END_);
	CHECK_INT(ARRAY_LEN(events), ROLLBACK_EVENT_END_);
	for (int c = 0; c < ROLLBACK_CAUSE_END_; c++)
		for (int s = 0; s < ROLLBACK_STATE_END_; s++)
			for (int e = 0; e < ROLLBACK_EVENT_END_; e++)
				check(c, s, e);
}

/* Whoever sends what the order does not have gets an error, not a step of the rollback. */
TEST(an_event_out_of_order_is_refused)
{
	static const struct {
		enum rollback_state state;
		enum rollback_event event;
	} wrong[] = {
		{ROLLBACK_IDLE, ROLLBACK_READY},
		{ROLLBACK_IDLE, ROLLBACK_RESTORED},
		{ROLLBACK_IDLE, ROLLBACK_COUNTED},
		{ROLLBACK_ENDING, ROLLBACK_STAY}, /* one at a time */
		{ROLLBACK_ENDING, ROLLBACK_RESTORED},
		{ROLLBACK_FILES, ROLLBACK_ENDED}, /* init answers once */
		{ROLLBACK_RESUMING, ROLLBACK_ENDED},
		{ROLLBACK_HOST_FILES, ROLLBACK_FROZEN}, /* that box is given up */
		{ROLLBACK_LEAVING, ROLLBACK_RESTORED},
		{ROLLBACK_STATE_END_, ROLLBACK_FAILED},
	};
	struct rollback_move move;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK(!rollback_advance(ROLLBACK_STEP, wrong[i].state, wrong[i].event, &move));
	CHECK(!rollback_advance(ROLLBACK_STEP, ROLLBACK_IDLE, ROLLBACK_EVENT_END_, &move));
}

static bool has(const struct rollback_move *move, enum rollback_action action)
{
	for (size_t i = 0; i < ROLLBACK_ACTIONS_MAX; i++)
		if (move->actions[i] == action)
			return true;
	return false;
}

/* Whatever comes in whatever order, @n_ends becomes the number of times that anybody is told. */
static enum rollback_state play(enum rollback_cause cause, unsigned random, int *n_ends)
{
	enum rollback_state state = ROLLBACK_IDLE;
	bool has_begun = false;
	for (int i = 0; i < 400 && !(has_begun && state == ROLLBACK_IDLE); i++) {
		struct rollback_move move;
		random = random * 1664525u + 1013904223u;
		enum rollback_event event =
			(enum rollback_event)((random >> 16) % ROLLBACK_EVENT_END_);
		if (event == ROLLBACK_ENDED && !has_begun)
			continue;
		if (!rollback_advance(cause, state, event, &move))
			continue;
		has_begun = true;
		state = move.next;
		bool is_end = has(&move, ROLLBACK_TELL) || has(&move, ROLLBACK_TELL_LOST) ||
			(has(&move, ROLLBACK_READ_BOOKS) && state == ROLLBACK_IDLE);
		*n_ends += is_end;
		CHECK_INT(is_end, state == ROLLBACK_IDLE);
		CHECK_INT(has(&move, ROLLBACK_LOSE), has(&move, ROLLBACK_TELL_LOST));
	}
	return state;
}

TEST(any_order_of_events_ends_once)
{
	for (int cause = 0; cause < ROLLBACK_CAUSE_END_; cause++)
		for (unsigned seed = 0; seed < 1000; seed++) {
			int n_ends = 0;
			CHECK_INT(play((enum rollback_cause)cause, seed, &n_ends), ROLLBACK_IDLE);
			CHECK_INT(n_ends, 1);
		}
}
