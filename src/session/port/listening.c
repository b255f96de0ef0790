/* SPDX-License-Identifier: Apache-2.0 */
#include "session/port/listening.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_LISTEN = 0x0A, WORD_DIGITS = 8 };

/* Read @digits hexadecimal digits at *@at, and move *@at behind them. Returns: false if there are
 * fewer before @end. */
static bool take_hex(const char **at, const char *end, int digits, uint32_t *out)
{
	uint32_t value = 0;
	for (; digits > 0; digits--, (*at)++) {
		if (*at == end)
			return false;
		char c = **at;
		uint32_t digit = (uint32_t)(c >= '0' && c <= '9' ? c - '0'
				: c >= 'A' && c <= 'F'		 ? c - 'A' + 10
								 : 16);
		if (digit == 16)
			return false;
		value = value << 4 | digit;
	}
	*out = value;
	return true;
}

static bool take_char(const char **at, const char *end, char c)
{
	if (*at == end || **at != c)
		return false;
	(*at)++;
	return true;
}

/* Read an address, whose words have the byte order of this machine, and a port. */
static bool take_place(
	const char **at, const char *end, bool is_v6, uint32_t words[4], uint32_t *port)
{
	for (int i = 0; i < (is_v6 ? 4 : 1); i++)
		if (!take_hex(at, end, WORD_DIGITS, &words[i]))
			return false;
	return take_char(at, end, ':') && take_hex(at, end, 4, port);
}

/* A row begins "   0: 0100007F:1F90 00000000:0000 0A". */
static bool parse_row(const char *at, const char *end, bool is_v6, struct listening *out)
{
	uint32_t words[4] = {0}, peer[4], port = 0, peer_port, state;
	const char *colon = memchr(at, ':', (size_t)(end - at));
	at = colon ? colon + 1 : end;
	bool is_row = take_char(&at, end, ' ') && take_place(&at, end, is_v6, words, &port) &&
		take_char(&at, end, ' ') && take_place(&at, end, is_v6, peer, &peer_port) &&
		take_char(&at, end, ' ') && take_hex(&at, end, 2, &state);
	if (!is_row || state != STATE_LISTEN || port == 0)
		return false;
	out->port = (uint16_t)port;
	return inet_ntop(is_v6 ? AF_INET6 : AF_INET, words, out->address, sizeof out->address);
}

size_t listening_parse(
	const char *text, size_t bytes, bool is_v6, struct listening *out, size_t max)
{
	const char *end = text + bytes;
	size_t n = 0;
	while (n < max && text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));
		if (!line_end)
			break;
		n += parse_row(text, line_end, is_v6, &out[n]);
		text = line_end + 1;
	}
	return n;
}

bool listening_has(const struct listening *v, size_t n, uint16_t port)
{
	static const char *const reached[] = {
		"127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"};
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; v[i].port == port && k < ARRAY_LEN(reached); k++)
			if (strcmp(v[i].address, reached[k]) == 0)
				return true;
	return false;
}

/* ---- asking a box ---- */

struct asking {
	struct box *box;
	bool is_v6;
	listening_fn *done;
	void *arg;
	size_t n;
	struct listening v[LISTENING_MAX];
};

static int by_port(const void *a, const void *b)
{
	const struct listening *x = a, *y = b;
	int order = (int)x->port - (int)y->port;
	return order ? order : strcmp(x->address, y->address);
}

static void finish(struct asking *a, const struct err *err)
{
	qsort(a->v, a->n, sizeof a->v[0], by_port);
	a->done(a->arg, err ? NULL : a->v, err ? 0 : a->n, err);
	box_let_go(a->box);
	free(a);
}

/* Read the table. It lists listeners first, so it does not matter that a long one is cut. */
static int read_table(struct asking *a, int fd, struct err *err)
{
	char *text = malloc(LISTENING_BYTES);
	ssize_t n = text ? fd_read_all(fd, text, LISTENING_BYTES) : -ENOMEM;
	size_t bytes = n == -E2BIG ? LISTENING_BYTES : (size_t)MAX(n, 0);
	if (n >= 0 || n == -E2BIG)
		a->n += listening_parse(text, bytes, a->is_v6, a->v + a->n, LISTENING_MAX - a->n);
	free(text);
	return n < 0 && n != -E2BIG ? err_sys(err, ERR_IO, (int)-n, "list the box's listeners") : 0;
}

static void on_table(void *arg, const int *fds, const struct err *err)
{
	struct asking *a = arg;
	struct err failed;
	cleanup_fd int table = fds ? fds[0] : -1;
	/* A host without IPv6 has no second table. */
	if (table < 0 && !(a->is_v6 && err->sys == ENOENT)) {
		finish(a, err);
	} else if (table >= 0 && read_table(a, table, &failed) < 0) {
		finish(a, &failed);
	} else if (!a->is_v6) {
		a->is_v6 = true;
		(void)box_open(a->box, WARDEN_DOOR_LISTENERS6, NULL, on_table, a);
	} else {
		finish(a, NULL);
	}
}

void listening_ask(struct box *b, listening_fn *done, void *arg)
{
	struct asking *a = xnew(struct asking);
	a->box = box_hold(b);
	a->done = done;
	a->arg = arg;
	(void)box_open(b, WARDEN_DOOR_LISTENERS, NULL, on_table, a);
}
