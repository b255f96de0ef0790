/* What a client of a WebSocket sends: whatever the pieces in which it comes, the messages are the
 * same, in bounded memory, and nothing follows a close. When it is closed is not compared: the
 * library looks at what has come of a frame. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "base/buf.h"
#include "serve/web/frames.h"

#include <string.h>

enum { ANSWERS_BYTES = 4 << 20 };

struct seen {
	struct frames *frames;
	struct buf messages, answers;
	bool is_closed;
};

static void on_message(void *arg, bool is_text, const char *data, size_t bytes)
{
	struct seen *s = arg;
	MUST(bytes <= FRAMES_MESSAGE_BYTES);
	MUST(!s->is_closed);
	MUST(buf_addf(&s->messages, "%c%zu:", is_text ? 't' : 'b', bytes) == 0);
	MUST(buf_append(&s->messages, data, bytes) == 0);
}

static void take_answers(struct seen *s)
{
	struct buf *out = frames_out(s->frames);
	MUST(frames_waiting(s->frames) >= out->bytes);
	MUST(buf_append(&s->answers, buf_str(out), out->bytes) == 0);
	buf_clear(out);
	s->is_closed = frames_is_over(s->frames);
	if (s->is_closed)
		MUST(frames_send(s->frames, true, "x", 1) < 0);
}

/* The first byte says how long a piece is. */
static void read_all(struct seen *s, const char *data, size_t bytes, size_t step)
{
	struct err err;
	const struct frames_config config = {.message = on_message, .arg = s};
	*s = (struct seen){.messages = BUF_INIT(ANSWERS_BYTES), .answers = BUF_INIT(ANSWERS_BYTES)};
	MUST(frames_open(&s->frames, &config, &err) == 0);
	for (size_t at = 0; at < bytes; at += step) {
		frames_read(s->frames, data + at, MIN(step, bytes - at));
		/* A ping is answered with what it holds. */
		MUST(frames_waiting(s->frames) <= 2 * bytes + 200);
		take_answers(s);
	}
	frames_free(s->frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct seen whole, parts;
	if (bytes == 0)
		return 0;
	const char *text = (const char *)data + 1;
	read_all(&whole, text, bytes - 1, bytes);
	read_all(&parts, text, bytes - 1, 1 + data[0] % 16);
	MUST(whole.messages.bytes == parts.messages.bytes);
	MUST(memcmp(buf_str(&whole.messages), buf_str(&parts.messages), whole.messages.bytes) == 0);
	buf_done(&whole.messages);
	buf_done(&whole.answers);
	buf_done(&parts.messages);
	buf_done(&parts.answers);
	return 0;
}
