/* Long answers that callers are owed. SPDX-License-Identifier: Apache-2.0 */
#include "api/operation/outstanding.h"

#include "api/operation/operation.h"
#include "api/operation/principal.h"
#include "t.h"

enum { MIB = 1 << 20, LARGE = 128 * MIB, SMALL = 64 * MIB };

struct one {
	struct outstanding_turn turn;
	struct outstanding_part owed;
	bool has_begun;
	enum err_code why;
};

static void begin(struct outstanding_turn *turn, const struct err *why)
{
	struct one *o = container_of(turn, struct one, turn);
	CHECK(!o->has_begun && !o->why);
	o->has_begun = !why;
	o->why = why ? why->code : ERR_NONE;
	if (!why)
		outstanding_set(&o->owed, turn->of, turn->bytes);
}

static void ask(struct outstanding *of, struct one *o, size_t bytes)
{
	*o = (struct one){.turn.begin = begin};
	outstanding_wait(of, &o->turn, bytes);
}

static uv_loop_t loop;
static struct outstanding_queue *line;
static struct operation_context context;

static struct outstanding *open_line(void)
{
	CHECK_INT(uv_loop_init(&loop), 0);
	line = outstanding_open(&loop);
	context = (struct operation_context){.outstanding = line};
	return outstanding_of(&context);
}

static void close_line(void)
{
	outstanding_close(line);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&loop), 0);
	outstanding_free(line);
}

TEST(what_has_room_begins_at_once)
{
	struct outstanding *of = open_line();
	struct one all[3];
	for (int i = 0; i < 3; i++)
		ask(of, &all[i], SMALL);
	CHECK(all[0].has_begun && all[1].has_begun && all[2].has_begun);
	CHECK_INT(of->bytes, OUTSTANDING_BYTES);
	for (int i = 0; i < 3; i++)
		outstanding_set(&all[i].owed, NULL, 0);
	CHECK_INT(of->bytes, 0);
	close_line();
}

TEST(others_wait_in_their_order)
{
	struct outstanding *of = open_line();
	struct one large, second, small;
	ask(of, &large, LARGE);
	ask(of, &second, LARGE);
	ask(of, &small, SMALL); /* would have room, but does not overtake */
	CHECK(large.has_begun && !second.has_begun && !small.has_begun);
	outstanding_set(&large.owed, NULL, 0);
	CHECK(!second.has_begun); /* not within the call */
	while (!small.has_begun)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK(second.has_begun);
	CHECK_INT(of->bytes, LARGE + SMALL);
	close_line();
}

TEST(one_is_never_too_long)
{
	struct outstanding *of = open_line();
	struct one all[2];
	ask(of, &all[0], 2 * (size_t)OUTSTANDING_BYTES);
	ask(of, &all[1], 1);
	CHECK(all[0].has_begun && !all[1].has_begun && outstanding_is_full(of));
	outstanding_set(&all[0].owed, NULL, 0);
	while (!all[1].has_begun)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK(!outstanding_is_full(of));
	close_line();
}

TEST(each_caller_has_a_line)
{
	static const struct principal_limits none;
	struct principal *eve;
	struct err err;
	struct outstanding *of = open_line();
	struct one own, hers;
	CHECK_INT(principal_new(&eve, "eve", &none, &err), 0);
	context.principal = eve;
	ask(of, &own, OUTSTANDING_BYTES);
	ask(outstanding_of(&context), &hers, OUTSTANDING_BYTES);
	CHECK(own.has_begun && hers.has_begun);
	CHECK(outstanding_of(&context) != of);
	close_line();
	principal_free(eve);
	CHECK(outstanding_of(&(struct operation_context){0}) == NULL);
	CHECK(!outstanding_is_full(NULL));
}

TEST(who_leaves_lets_others_pass)
{
	struct outstanding *of = open_line();
	struct one all[3];
	ask(of, &all[0], LARGE);
	ask(of, &all[1], LARGE);
	ask(of, &all[2], SMALL);
	outstanding_leave(&all[1].turn);
	while (!all[2].has_begun)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK(!all[1].has_begun && !all[1].why);
	close_line();
}

TEST(where_nothing_is_taken_one_is_refused)
{
	struct outstanding *of = open_line();
	struct one all[3];
	for (int i = 0; i < 3; i++)
		ask(of, &all[i], LARGE);
	all[1].turn.since_ms = 0; /* long ago */
	of->moved_ms = 0;
	while (!all[1].why)
		(void)uv_run(&loop, UV_RUN_ONCE);
	CHECK_INT(all[1].why, ERR_QUOTA);
	CHECK(!all[2].why && !all[2].has_begun);
	close_line();
	CHECK_INT(all[2].why, ERR_GONE);
}

TEST(a_line_has_an_end)
{
	enum { N = OUTSTANDING_IN_LINE + 2 };
	static struct one all[N];
	struct outstanding *of = open_line();
	for (int i = 0; i < N; i++)
		ask(of, &all[i], LARGE);
	CHECK(all[0].has_begun && !all[N - 2].why);
	CHECK_INT(all[N - 1].why, ERR_QUOTA);
	close_line();
}
