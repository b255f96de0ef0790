/* libwslay reads and writes through callbacks. They read from the bytes that frames_read() was
 * given, and write to a buffer, whose owner sends it. SPDX-License-Identifier: Apache-2.0 */
#include "serve/web/frames.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "serve/web/wslay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OUT_BYTES: bytes that are framed ahead. The rest waits in the library, which keeps it as
 * messages. */
enum { OUT_BYTES = 256 << 10, KEY_BYTES = 16, SHA1_BYTES = 20 };

struct frames {
	struct wslay lib;
	wslay_event_context_ptr context;
	struct frames_config config;
	const char *in;
	size_t in_bytes;
	struct buf out;
	enum frames_close close; /* to be sent when all messages are; 0: no close */
	char reason[FRAMES_REASON_BYTES];
	bool is_broken; /* the library has failed: nothing is read or written any more */
};

static ssize_t on_recv(
	wslay_event_context_ptr context, uint8_t *data, size_t max, int flags, void *arg)
{
	struct frames *f = arg;
	size_t n = MIN(max, f->in_bytes);
	(void)flags;
	if (n == 0) {
		f->lib.set_error(context, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	memcpy(data, f->in, n);
	f->in += n;
	f->in_bytes -= n;
	return (ssize_t)n;
}

static ssize_t on_send(
	wslay_event_context_ptr context, const uint8_t *data, size_t bytes, int flags, void *arg)
{
	struct frames *f = arg;
	size_t n = MIN(bytes, OUT_BYTES - f->out.bytes);
	(void)flags;
	if (n > 0 && buf_append(&f->out, (const char *)data, n) == 0)
		return (ssize_t)n;
	f->lib.set_error(context, n == 0 ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static void on_message(wslay_event_context_ptr context,
	const struct wslay_event_on_msg_recv_arg *message, void *arg)
{
	const struct frames *f = arg;
	bool is_text = message->opcode == WSLAY_TEXT_FRAME;
	(void)context;
	if (is_text || message->opcode == WSLAY_BINARY_FRAME)
		f->config.message(
			f->config.arg, is_text, (const char *)message->msg, message->msg_length);
}

int frames_open(struct frames **out, const struct frames_config *config, struct err *err)
{
	static const struct wslay_event_callbacks callbacks = {.recv_callback = on_recv,
		.send_callback = on_send,
		.on_msg_recv_callback = on_message};
	struct frames *f = xnew(struct frames);
	*f = (struct frames){.config = *config, .out = BUF_INIT(OUT_BYTES)};
	int r = wslay_load(&f->lib, err);
	if (r == 0 && f->lib.context_server_init(&f->context, &callbacks, f) != 0)
		r = err_set(err, ERR_NO_MEMORY, "no memory for a WebSocket");
	if (r < 0) {
		free(f);
		return r;
	}
	f->lib.config_set_max_recv_msg_length(f->context,
		config->message_max_bytes ? config->message_max_bytes : FRAMES_MESSAGE_BYTES);
	*out = f;
	return 0;
}

void frames_free(struct frames *f)
{
	f->lib.context_free(f->context);
	buf_done(&f->out);
	free(f);
}

/* Have the library write what it can. The library would send a close before messages that wait, and
 * drop these, so it gets the close behind them. */
static void flush(struct frames *f)
{
	if (!f->is_broken && f->lib.send(f->context) != 0)
		f->is_broken = true;
	if (f->is_broken || !f->close || f->lib.get_queued_msg_count(f->context) > 0)
		return;
	(void)f->lib.queue_close(
		f->context, (uint16_t)f->close, (const uint8_t *)f->reason, strlen(f->reason));
	f->close = 0;
	if (f->lib.send(f->context) != 0)
		f->is_broken = true;
}

void frames_read(struct frames *f, const char *data, size_t bytes)
{
	f->in = data;
	f->in_bytes = bytes;
	while (!f->is_broken && f->in_bytes > 0 && f->lib.want_read(f->context))
		/* After some errors the library still has a close to send, and reads no more. */
		if (f->lib.recv(f->context) != 0 && f->lib.want_read(f->context))
			f->is_broken = true;
	f->in = NULL;
	f->in_bytes = 0;
	flush(f);
}

static int put(struct frames *f, uint8_t opcode, const char *data, size_t bytes)
{
	const struct wslay_event_msg message = {
		.opcode = opcode, .msg = (const uint8_t *)data, .msg_length = bytes};
	if (f->is_broken || f->close)
		return -EPIPE;
	int r = f->lib.queue_msg(f->context, &message);
	flush(f);
	return r == 0 ? 0 : r == WSLAY_ERR_NOMEM ? -ENOMEM : -EPIPE;
}

int frames_send(struct frames *f, bool is_text, const char *data, size_t bytes)
{
	return put(f, is_text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME, data, bytes);
}

int frames_ping(struct frames *f)
{
	return put(f, WSLAY_PING, NULL, 0);
}

int frames_close(struct frames *f, enum frames_close code, const char *reason)
{
	if (f->is_broken || f->close)
		return -EPIPE;
	f->close = code;
	snprintf(f->reason, sizeof f->reason, "%s", reason);
	flush(f);
	return 0;
}

struct buf *frames_out(struct frames *f)
{
	if (f->out.bytes == 0)
		flush(f);
	return &f->out;
}

size_t frames_waiting(const struct frames *f)
{
	return f->out.bytes + f->lib.get_queued_msg_length(f->context);
}

bool frames_is_over(const struct frames *f)
{
	return f->is_broken ||
		(!f->close && !f->lib.want_read(f->context) && !f->lib.want_write(f->context));
}

bool frames_is_answered(const struct frames *f)
{
	return f->lib.get_close_received(f->context);
}

int frames_accept(const char *key, char out[FRAMES_ACCEPT_BYTES], struct err *err)
{
	static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char digest[SHA1_BYTES];
	struct wslay lib;
	cleanup_buf struct buf raw = BUF_INIT(64), text = BUF_INIT(128);
	struct err inner;
	if (base64_read(&raw, key, strlen(key), &inner) < 0 || raw.bytes != KEY_BYTES)
		return err_fail(err, ERR_USAGE, "RFC 6455, 4.1: 16 bytes in base64",
			"the header Sec-WebSocket-Key is not valid");
	int r = wslay_load(&lib, err);
	if (r < 0)
		return r;
	buf_addf(&text, "%s%s", key, guid);
	if (lib.hash_fast(GNUTLS_DIG_SHA1, text.data, text.bytes, digest) != 0)
		return err_set(err, ERR_INTERNAL, "GnuTLS refuses SHA-1");
	base64_encode(out, digest, sizeof digest);
	out[FRAMES_ACCEPT_BYTES - 1] = '\0';
	return 0;
}
