/* Input of a program: in order, at the program's pace, withdrawn, ended, given up.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "session/process/input.h"

#include "base/fd.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { TURNS = 100000, MUCH_BYTES = 1 << 20, ORDER_MAX = 16 };

struct bench {
	uv_loop_t loop;
	struct input in;
	int reader;
	/* Names of the pieces that were done, in their order. */
	char order[ORDER_MAX];
	unsigned n_done, n_closed;
};

struct piece {
	struct input_piece piece;
	struct bench *bench;
	char name;
	enum err_code code; /* that it was done with; 0: none */
	struct piece *then; /* put when this one is done */
	struct piece *gone; /* withdrawn when this one is done */
};

static void on_done(struct input_piece *piece, const struct err *err)
{
	struct piece *p = container_of(piece, struct piece, piece);
	struct bench *b = p->bench;
	struct err wrong;
	if (CHECK(b->n_done < ORDER_MAX - 1))
		b->order[b->n_done++] = p->name;
	p->code = err ? err->code : 0;
	if (p->gone)
		input_withdraw(&b->in, &p->gone->piece);
	if (p->then)
		CHECK_INT(input_put(&b->in, &p->then->piece, &wrong), 0);
}

static struct piece piece_of(struct bench *b, char name, const char *data, size_t bytes)
{
	return (struct piece){.piece = {.data = data, .bytes = bytes, .done = on_done},
		.bench = b,
		.name = name,
		.code = ERR_PROTOCOL};
}

static void open_on(struct bench *b, int writer, int reader, bool is_terminal)
{
	struct err err;
	(void)signal(SIGPIPE, SIG_IGN);
	*b = (struct bench){.reader = reader};
	CHECK_INT(uv_loop_init(&b->loop), 0);
	CHECK_INT(input_open(&b->in, &b->loop, writer, is_terminal, &err), 0);
	CHECK_INT(fd_set_nonblock(reader, true), 0);
}

static void bench_open(struct bench *b)
{
	int ends[2];
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	open_on(b, ends[1], ends[0], false);
}

static void on_closed(uv_handle_t *handle)
{
	((struct bench *)handle->data)->n_closed++;
}

static void bench_done(struct bench *b)
{
	CHECK(input_close(&b->in, b, on_closed));
	CHECK(!input_close(&b->in, b, on_closed));
	(void)uv_run(&b->loop, UV_RUN_DEFAULT);
	CHECK_INT(b->n_closed, 1);
	input_done(&b->in);
	fd_close(&b->reader);
	CHECK_INT(uv_loop_close(&b->loop), 0);
}
#define BENCH cleanup(bench_done) struct bench

static int put(struct piece *p)
{
	struct err err = {0};
	return input_put(&p->bench->in, &p->piece, &err) < 0 ? (int)err.code : 0;
}

/* Read what the program would, until nothing comes any more. Returns: the number of bytes; *@is_end
 * says whether the input has ended. */
static size_t read_all(struct bench *b, char *out, size_t room, bool *is_end)
{
	size_t got = 0;
	*is_end = false;
	for (int idle = 0; idle < 3;) {
		ssize_t n = read(b->reader, out + got, room - got);
		if (n == 0)
			*is_end = room > got;
		if (n > 0)
			got += (size_t)n;
		idle = n > 0 ? 0 : idle + 1;
		(void)uv_run(&b->loop, UV_RUN_NOWAIT);
	}
	return got;
}

static char *much(char fill)
{
	char *all = malloc(INPUT_BYTES + 1);
	memset(all, fill, INPUT_BYTES + 1);
	return all;
}

TEST(pieces_arrive_in_order_and_are_done_when_the_pipe_has_them)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES + 16);
	bool is_end;
	bench_open(&b);
	struct piece one = piece_of(&b, '1', "one", 3), large = piece_of(&b, 'l', all, MUCH_BYTES),
		     two = piece_of(&b, '2', "two", 3), empty = piece_of(&b, '0', "", 0);
	CHECK_INT(put(&one), 0);
	CHECK_STR(b.order, "1");
	CHECK_INT(put(&large), 0);
	CHECK_INT(put(&two), 0);
	CHECK_INT(put(&empty), 0);
	CHECK_STR(b.order, "1");
	(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	CHECK_STR(b.order, "1"); /* nobody reads */
	CHECK_INT(read_all(&b, out, MUCH_BYTES + 16, &is_end), MUCH_BYTES + 6);
	CHECK(!is_end);
	CHECK(memcmp(out, "onexxx", 6) == 0 && memcmp(out + MUCH_BYTES, "xxxtwo", 6) == 0);
	CHECK_STR(b.order, "1l20");
	CHECK_INT(one.code + large.code + two.code + empty.code, 0);
	CHECK_INT(b.in.bytes, 0);
	free(all);
	free(out);
}

TEST(what_waits_has_a_bound)
{
	BENCH b;
	char *all = much('x');
	bench_open(&b);
	struct piece first = piece_of(&b, '1', all, INPUT_BYTES - 10),
		     fits = piece_of(&b, '2', all, 10), more = piece_of(&b, '3', all, 1),
		     nothing = piece_of(&b, '4', all, 0);
	CHECK_INT(put(&first), 0);
	CHECK_INT(put(&fits), 0);
	CHECK_INT(put(&more), ERR_BUSY);
	CHECK_INT(put(&nothing), 0);
	CHECK_STR(b.order, "");
	struct err why;
	err_set(&why, ERR_GONE, "over");
	input_shut(&b.in, &why);
	CHECK_STR(b.order, "124");
	CHECK_INT(first.code, ERR_GONE);
	/* It says how much of it went in. */
	CHECK(first.piece.at > 0 && first.piece.at < INPUT_BYTES - 10);
	CHECK_INT(fits.piece.at, 0);
	CHECK_INT(more.code, ERR_PROTOCOL); /* not called */
	CHECK_INT(put(&more), ERR_GONE);
	free(all);
}

/* Three pieces wait, one is taken back. */
static void withdraw(unsigned which, const char *want)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES + 16);
	bool is_end;
	bench_open(&b);
	struct piece p[] = {piece_of(&b, '0', all, MUCH_BYTES), piece_of(&b, '1', "a", 1),
		piece_of(&b, '2', "b", 1)},
		     later = piece_of(&b, '3', "c", 1);
	for (unsigned i = 0; i < ARRAY_LEN(p); i++)
		CHECK_INT(put(&p[i]), 0);
	input_withdraw(&b.in, &p[which].piece);
	input_withdraw(&b.in, &p[which].piece); /* it is not there any more */
	CHECK_INT(put(&later), 0);
	size_t n = read_all(&b, out, MUCH_BYTES + 16, &is_end);
	CHECK_STR(b.order, want);
	CHECK_INT(p[which].code, ERR_PROTOCOL); /* not called */
	CHECK_INT(b.in.bytes, 0);
	if (which == 0)
		CHECK_INT(n, p[0].piece.at + 3);
	free(all);
	free(out);
}

TEST(a_piece_is_taken_back)
{
	withdraw(0, "123");
	withdraw(1, "023");
	withdraw(2, "013");
}

TEST(the_only_piece_is_taken_back)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES);
	bool is_end;
	bench_open(&b);
	struct piece large = piece_of(&b, 'l', all, MUCH_BYTES), one = piece_of(&b, '1', "one", 3);
	CHECK_INT(put(&large), 0);
	input_withdraw(&b.in, &large.piece);
	free(all); /* it is not read any more */
	CHECK_INT(put(&one), 0);
	size_t n = read_all(&b, out, MUCH_BYTES, &is_end);
	CHECK_INT(n, large.piece.at + 3);
	CHECK(n >= 3 && memcmp(out + n - 3, "one", 3) == 0);
	CHECK_STR(b.order, "1");
	free(out);
}

TEST(the_end_comes_after_all_pieces)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES + 16);
	bool is_end;
	bench_open(&b);
	struct piece large = piece_of(&b, 'l', all, MUCH_BYTES), last = piece_of(&b, '1', "z", 1),
		     late = piece_of(&b, '2', "a", 1);
	last.piece.is_end = true;
	CHECK_INT(put(&large), 0);
	CHECK_INT(put(&last), 0);
	CHECK(!b.in.is_shut);
	CHECK_INT(read_all(&b, out, MUCH_BYTES + 16, &is_end), MUCH_BYTES + 1);
	CHECK(is_end);
	CHECK_STR(b.order, "l1");
	CHECK_INT(put(&late), ERR_GONE);
	/* The number of the descriptor stays taken until the poll is closed. */
	CHECK(fcntl(b.in.fd, F_GETFD) >= 0);
	free(all);
	free(out);
}

TEST(a_piece_behind_the_end_is_given_up_in_words)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES + 16);
	bool is_end;
	bench_open(&b);
	struct piece large = piece_of(&b, 'l', all, MUCH_BYTES), behind = piece_of(&b, 'b', "b", 1);
	struct err why;
	large.piece.is_end = true;
	CHECK_INT(put(&large), 0);
	CHECK_INT(put(&behind), 0);
	CHECK_INT(read_all(&b, out, MUCH_BYTES + 16, &is_end), MUCH_BYTES);
	CHECK(is_end);
	err_set(&why, ERR_GONE, "over");
	/* Whoever wrote it must hear of it, at the latest when the program ends. */
	input_shut(&b.in, &why);
	CHECK_STR(b.order, "lb");
	CHECK_INT(behind.code, ERR_GONE);
	free(all);
	free(out);
}

TEST(a_program_that_has_closed_its_input)
{
	BENCH b;
	char *all = much('x');
	bench_open(&b);
	struct piece large = piece_of(&b, 'l', all, MUCH_BYTES), next = piece_of(&b, 'n', "n", 1),
		     late = piece_of(&b, '2', "a", 1);
	CHECK_INT(put(&large), 0);
	CHECK_INT(put(&next), 0);
	fd_close(&b.reader);
	for (int i = 0; i < TURNS && b.n_done < 2; i++)
		(void)uv_run(&b.loop, UV_RUN_NOWAIT);
	CHECK_STR(b.order, "ln");
	CHECK_INT(large.code, ERR_GONE);
	CHECK_INT(next.code, ERR_GONE);
	CHECK_INT(put(&late), ERR_GONE);
	free(all);
}

TEST(a_program_without_input)
{
	struct input in = {.fd = -1};
	struct piece p = {.piece = {.data = "x", .bytes = 1, .done = on_done}};
	struct err err;
	CHECK(input_put(&in, &p.piece, &err) < 0);
	CHECK_INT(err.code, ERR_USAGE);
	CHECK(err.hint[0]);
	CHECK(!input_close(&in, NULL, on_closed));
}

TEST(who_is_told_may_write_more_and_take_others_back)
{
	BENCH b;
	char *all = much('x'), *out = malloc(MUCH_BYTES + 16);
	bool is_end;
	bench_open(&b);
	struct piece large = piece_of(&b, 'l', all, MUCH_BYTES), next = piece_of(&b, 'n', "n", 1),
		     last = piece_of(&b, 'z', "z", 1), more = piece_of(&b, 'm', "m", 1);
	large.gone = &next;
	large.then = &more;
	CHECK_INT(put(&large), 0);
	CHECK_INT(put(&next), 0);
	CHECK_INT(put(&last), 0);
	CHECK_INT(read_all(&b, out, MUCH_BYTES + 16, &is_end), MUCH_BYTES + 2);
	CHECK(memcmp(out + MUCH_BYTES, "zm", 2) == 0);
	CHECK_STR(b.order, "lzm");
	free(all);
	free(out);
}

/* Open a terminal. Returns: its master; @slave gets the other side. */
static int open_terminal(int *slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), unlocked = 0;
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0) {
		t_skip("this host has no terminals");
		fd_close(&master);
		return -1;
	}
	*slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return master;
}

TEST(the_end_of_a_terminals_input_is_its_key)
{
	static const unsigned char keys[] = {4, 1, 26};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		BENCH b;
		int slave, master = open_terminal(&slave);
		struct termios settings;
		char out[16];
		bool is_end;
		if (master < 0)
			return;
		CHECK_INT(tcgetattr(slave, &settings), 0);
		settings.c_cc[VEOF] = keys[i];
		settings.c_cc[VSUSP] = 0;
		CHECK_INT(tcsetattr(slave, TCSANOW, &settings), 0);
		open_on(&b, master, slave, true);
		struct piece one = piece_of(&b, '1', "one", 3), two = piece_of(&b, '2', "two\n", 4);
		one.piece.is_end = true;
		CHECK_INT(put(&one), 0);
		CHECK_STR(b.order, "1");
		CHECK_INT(read_all(&b, out, sizeof out, &is_end), 3);
		/* The terminal is open, and may be written to again. */
		CHECK_INT(put(&two), 0);
		CHECK_INT(read_all(&b, out, sizeof out, &is_end), 4);
		CHECK(!is_end);
	}
}

TEST(the_end_of_a_terminals_input_waits_for_room)
{
	BENCH b;
	int slave, master = open_terminal(&slave);
	char *lines = much('\n'), *out = malloc(MUCH_BYTES);
	bool is_end;
	if (master >= 0) {
		open_on(&b, master, slave, true);
		struct piece large = piece_of(&b, 'l', lines, MUCH_BYTES),
			     last = piece_of(&b, 'e', "", 0);
		last.piece.is_end = true;
		CHECK_INT(put(&large), 0);
		CHECK(large.piece.at < MUCH_BYTES);
		/* The terminal is full now, and the rest is taken back. */
		input_withdraw(&b.in, &large.piece);
		CHECK_INT(put(&last), 0);
		CHECK_INT(read_all(&b, out, MUCH_BYTES, &is_end), large.piece.at);
		CHECK_STR(b.order, "e");
		CHECK(is_end);
	} else {
		b = (struct bench){.reader = -1};
		int ends[2];
		CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
		open_on(&b, ends[1], ends[0], false);
	}
	free(lines);
	free(out);
}
