/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/headers.h"

#include "base/alloc.h"
#include "net/message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Headers that are not passed on, besides those of one connection (net/message.h). */
enum { IN_REQUEST = 1, IN_ANSWER = 2, IN_SECRET = 4 };
static const struct {
	const char *name;
	int where; /* IN_SECRET: in requests to a host that gets secrets */
} dropped[] = {
	{"Upgrade", IN_REQUEST}, /* set anew for a WebSocket */
	{"Expect", IN_REQUEST},
	{"Alt-Svc", IN_ANSWER}, /* QUIC would lead past the gateway */
	/* in what is compressed, or a part, no value could be found */
	{"Accept-Encoding", IN_SECRET},
	{"Range", IN_SECRET},
	{"If-Range", IN_SECRET},
};

static bool is_dropped(const char *name, int where, const char *connection)
{
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if ((dropped[i].where & where) && strcasecmp(dropped[i].name, name) == 0)
			return true;
	return message_is_hop(name, connection);
}

static void begin(struct headers *list, struct exchange *x)
{
	*list = (struct headers){.exchange = x, .connection = BUF_INIT(WEB_HEAD_BYTES)};
}

void headers_done(struct headers *list)
{
	for (size_t i = 0; i < list->n; i++) {
		char *value = (char *)list->v[i].value; /* there may be a secret in it */
		explicit_bzero(value, strlen(value));
		free(value);
	}
	buf_done(&list->connection);
}

static void note_connection(struct headers *list, const char *name, const char *value)
{
	if (strcasecmp(name, "Connection") == 0)
		(void)buf_addf(
			&list->connection, "%s%s", list->connection.bytes > 0 ? "," : "", value);
}

/* ---- of requests ---- */

static void add(struct headers *list, const char *name, char *value)
{
	if (list->n == NET_HEADERS_MAX) {
		list->why_not = "it has more than 64 headers";
		free(value);
		return;
	}
	list->exchange->bytes_out += strlen(name) + strlen(value);
	list->v[list->n++] = (struct net_header){.name = name, .value = value};
}

static enum MHD_Result find_connection(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	(void)kind;
	note_connection(arg, name, value ? value : "");
	return MHD_YES;
}

static enum MHD_Result pass(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct headers *list = arg;
	const struct exchange *x = list->exchange;
	struct buf out = BUF_INIT(NET_HEADER_BYTES);
	int where = IN_REQUEST | (x->n_swaps > 0 ? IN_SECRET : 0);
	(void)kind;
	if (is_dropped(name, where, buf_str(&list->connection)))
		return MHD_YES;
	(void)swap_header(x->swaps, x->n_swaps, value ? value : "", &out);
	if (buf_error(&out) < 0)
		list->why_not = "one of its headers has more than 64 KiB";
	else
		add(list, name, out.data ? buf_take(&out) : xstrdup(""));
	buf_done(&out);
	return MHD_YES;
}

void headers_of_request(struct headers *list, struct exchange *x)
{
	const struct microhttpd *lib = exchange_library(x);
	begin(list, x);
	(void)lib->get_connection_values(x->client->mhd, MHD_HEADER_KIND, find_connection, list);
	(void)lib->get_connection_values(x->client->mhd, MHD_HEADER_KIND, pass, list);
	if (x->is_websocket) {
		add(list, "Connection", xstrdup("Upgrade"));
		add(list, "Upgrade", xstrdup("websocket"));
	}
	/* libcurl adds it to a body only */
	if (x->up_bytes == 0 && exchange_header(x, "Content-Length"))
		add(list, "Content-Length", xstrdup("0"));
}

/* ---- of answers ---- */

static void find_connection_of_answer(void *arg, const char *name, const char *value)
{
	note_connection(arg, name, value);
}

static void pass_of_answer(void *arg, const char *name, const char *value)
{
	const struct headers *list = arg;
	struct exchange *x = list->exchange;
	cleanup_buf struct buf out = BUF_INIT(NET_HEADER_BYTES);
	x->bytes_in += strlen(name) + strlen(value);
	blot_text(x->blot, name, strlen(name), &out);
	if (is_dropped(name, IN_ANSWER, buf_str(&list->connection)) ||
		strcmp(buf_str(&out), name) != 0)
		return;
	buf_clear(&out);
	blot_text(x->blot, value, strlen(value), &out);
	if (buf_error(&out) == 0)
		(void)exchange_library(x)->add_response_header(x->response, name, buf_str(&out));
}

void headers_of_answer(struct exchange *x)
{
	struct headers list;
	begin(&list, x);
	net_each_header(x->call, find_connection_of_answer, &list);
	net_each_header(x->call, pass_of_answer, &list);
	headers_done(&list);
}
