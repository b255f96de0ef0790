/* Writing of recordings. SPDX-License-Identifier: Apache-2.0 */
#include "store/recording.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/call_step.h"
#include "store/export.h"
#include "store/file_step.h"
#include "store/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The states of an export. It begins with this state:
 * WAY: walk from the last step to the first, and collect the digests of the steps.
 *
 * Then it goes through these states for each step, beginning with the first step:
 * LOAD: read the step from the journal.
 * CHECK: compare the step with its digest. If the step called no tools, also write it to the
 * recording.
 * ANSWERS: only if the step called tools, read the responses of the tools from the journal.
 * WRITE: only if the step called tools, write it to the recording.
 *
 * After the last step:
 * END: write the first line of the recording again, because its version number depends on the
 * steps. The length of the line stays the same, because the number always has one digit.
 * WHOLE: the export is complete.
 *
 * CHECK, WRITE and END do not use the journal, so another thread may do them. They take long for a
 * large step.
 */
enum state {
	STATE_WAY,
	STATE_LOAD,
	STATE_CHECK,
	STATE_ANSWERS,
	STATE_WRITE,
	STATE_END,
	STATE_WHOLE
};

enum { INLINE_BYTES = 64 << 10 };

struct journal_export {
	struct journal *j;
	struct journal_session session;
	struct journal_way way;
	enum state state;
	char (*digest)[DIGEST_BYTES]; /* digests of the steps, the last step first */
	size_t n, room;
	size_t n_left; /* number of steps that have not been loaded */
	int version;   /* version of the recording */
	size_t left;   /* bytes that may still be written */
	/* The step that is being exported. */
	struct journal_node node;
	struct file_step file;
	char *content;
	size_t content_bytes;
	json_t *calls, *answers;
	int bad; /* negative errno of a failure in journal_export_away(); 0: success */
	struct err err;
	FILE *to;
	char *text;
	size_t bytes, head_bytes;
};

static int collect(void *user, const struct journal_node *node, struct err *err)
{
	struct journal_export *x = user;
	if (x->n == RECORDING_STEPS_MAX)
		return err_set(err, ERR_LIMIT, "export: more than %d steps", RECORDING_STEPS_MAX);
	if (x->n == x->room) {
		size_t room = x->room ? 2 * x->room : 64;
		void *more = realloc(x->digest, room * sizeof *x->digest);
		if (!more)
			return err_set(err, ERR_NO_MEMORY, "export %zu steps", x->n);
		x->digest = more;
		x->room = room;
	}
	memcpy(x->digest[x->n++], node->digest, DIGEST_BYTES);
	return 0;
}

static json_t *text_json(const char *data, size_t bytes)
{
	if (utf8_is_valid(data, bytes))
		return json_stringn_nocheck(data, bytes);
	cleanup_buf struct buf text = BUF_INIT(base64_bytes(bytes));
	return base64_write(&text, data, bytes) < 0 ? NULL
						    : json_pack("{s:s}", "base64", buf_str(&text));
}

/* Write @line and a newline to @to, and subtract their length from @left. Consumes @line. */
static int write_line(FILE *to, json_t *line, size_t *left, struct err *err)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (!text)
		return err_set(err, ERR_NO_MEMORY, "export");
	size_t bytes = strlen(text);
	int r = 0;
	errno = 0;
	if (bytes + 1 > *left)
		r = err_set(err, ERR_LIMIT, "export: the recording would be over %d bytes",
			RECORDING_MAX);
	else if (fwrite(text, 1, bytes, to) != bytes || fputc('\n', to) == EOF)
		r = err_sys(err, errno == ENOSPC ? ERR_NO_SPACE : ERR_IO, errno ? errno : EIO,
			"write the recording");
	*left -= MIN(*left, bytes + 1);
	free(text);
	return r;
}

static void step_done(struct journal_export *x)
{
	journal_node_done(&x->node);
	free(take_ptr(x->content));
	json_decref(take_ptr(x->calls));
	json_decref(take_ptr(x->answers));
}

static int load_content(struct journal_export *x, struct err *err)
{
	unsigned char sum[DIGEST_RAW_BYTES];
	if (digest_read(sum, x->file.digest) < 0)
		return err_set(err, ERR_DAMAGED, "a file has no digest");
	return blob_read(x->j, sum, false, &x->content, &x->content_bytes, err);
}

/* Load the next step. Returns: 1 when the step is too large to be written in the journal's
 * thread, 0 when it is small, or negative errno. */
static int load(struct journal_export *x, struct err *err)
{
	int64_t seq = node_seq(x->j, x->digest[--x->n_left], err);
	int r = seq < 0 ? (int)seq : node_read(x->j, seq, JOURNAL_RAW, &x->node, err);
	if (r < 0)
		return r;
	x->file = (struct file_step){.is_removal = true};
	if (file_step_is(&x->node)) {
		x->version = MAX(x->version, (int)RECORDING_FILES);
		r = file_step_read(&x->file, &x->node, err);
	}
	if (r == 0 && !x->file.is_removal)
		r = load_content(x, err);
	if (r < 0)
		return r;
	x->state = STATE_CHECK;
	return x->node.code_bytes + x->node.record_bytes + x->content_bytes > INLINE_BYTES;
}

static int check(const struct journal_export *x, struct err *err)
{
	char digest[DIGEST_BYTES];
	int r = journal_node_check(&x->node, err);
	if (r < 0 || x->file.is_removal)
		return r;
	digest_text(digest, x->content, x->content_bytes);
	return strcmp(digest, x->file.digest) == 0
		? 0
		: err_set(err, ERR_DAMAGED, "blob %s: it is damaged", x->file.digest);
}

static int write_step(struct journal_export *x, struct err *err)
{
	const struct journal_node *node = &x->node;
	json_t *line =
		json_pack("{s:s, s:s, s:s, s:o, s:o}", "step", node->digest, "parent", node->parent,
			"runtime", node->runtime, "code", text_json(node->code, node->code_bytes),
			"record", text_json(node->record, node->record_bytes));
	json_t *content = x->file.is_removal ? NULL : text_json(x->content, x->content_bytes);
	/* If there is no memory for the content, drop the line, so that write_line() fails. */
	if (!content && !x->file.is_removal)
		json_decref(take_ptr(line));
	json_put_new(line, "content", content);
	json_put_shared(line, "answers", x->answers);
	int r = write_line(x->to, line, &x->left, err);
	step_done(x);
	x->state = STATE_LOAD;
	return r;
}

static char *head_line(const struct journal_export *x)
{
	const struct journal_session *s = &x->session;
	const char *head = x->n > 0 ? x->digest[0] : "";
	char check[DIGEST_BYTES];
	recording_check(check, s->order, s->order_bytes, x->n, head);
	cleanup_json json_t *line = json_pack("{s:i, s:o, s:I, s:s, s:s}", "retort_record",
		x->version, "order", text_json(s->order, s->order_bytes), "steps", (json_int_t)x->n,
		"head", head, "check", check);
	return line ? json_dumps(line, JSON_COMPACT) : NULL;
}

static int begin_text(struct journal_export *x, struct err *err)
{
	char *head = head_line(x);
	if (head)
		x->head_bytes = strlen(head);
	bool is_good = head && fprintf(x->to, "%s\n", head) > 0;
	free(head);
	return is_good ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for the record");
}

static int end_text(struct journal_export *x, struct err *err)
{
	bool is_whole = fclose(take_ptr(x->to)) == 0;
	char *head = is_whole ? head_line(x) : NULL;
	bool is_good = head && strlen(head) == x->head_bytes;
	if (is_good)
		memcpy(x->text, head, x->head_bytes);
	free(head);
	return is_good ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for the record");
}

void journal_export_away(struct journal_export *x)
{
	if (x->state == STATE_CHECK) {
		x->bad = check(x, &x->err);
		if (x->bad == 0 && !file_step_is(&x->node))
			x->calls = call_step_calls(&x->node);
		x->state = x->calls ? STATE_ANSWERS : STATE_WRITE;
	}
	if (x->bad == 0 && x->state == STATE_WRITE)
		x->bad = write_step(x, &x->err);
	if (x->state == STATE_END) {
		x->bad = end_text(x, &x->err);
		x->state = STATE_WHOLE;
	}
}

int journal_export_part(struct journal_export *x, struct err *err)
{
	int64_t n;
	int r = 0;
	*err = x->err;
	if (x->bad < 0)
		return x->bad;
	switch (x->state) {
	case STATE_WAY:
		n = x->way.at[0] ? journal_way_up(x->j, &x->way, 1, collect, x, err) : 0;
		if (n > 0)
			return EXPORT_MORE;
		x->n_left = x->n;
		x->state = STATE_LOAD;
		r = n < 0 ? (int)n : begin_text(x, err);
		return r < 0 ? r : EXPORT_MORE;
	case STATE_LOAD:
		if (x->n_left == 0) {
			x->state = STATE_END;
			r = RECORDING_MAX - x->left > INLINE_BYTES;
		} else {
			r = load(x, err);
		}
		break;
	case STATE_WHOLE:
		return 0;
	case STATE_ANSWERS:
		x->version = RECORDING_CALLS;
		x->state = STATE_WRITE;
		r = call_step_answers(x->j, x->calls, &x->answers, err);
		r = r < 0 ? r : x->node.record_bytes > INLINE_BYTES;
		break;
	case STATE_CHECK:
	case STATE_WRITE:
	case STATE_END:
		break;
	}
	if (r == 0)
		journal_export_away(x);
	return r < 0 ? r : r > 0 ? EXPORT_AWAY : EXPORT_MORE;
}

int journal_export_begin(struct journal_export **out, struct journal *j, const char *session,
	const char *digest, struct err *err)
{
	struct journal_export *x = xnew(struct journal_export);
	x->j = j;
	x->version = RECORDING_PLAIN;
	x->left = RECORDING_MAX;
	x->way.how = JOURNAL_BRIEF;
	x->to = open_memstream(&x->text, &x->bytes);
	int r = x->to ? journal_session_get(j, session, &x->session, err)
		      : err_set(err, ERR_NO_MEMORY, "export");
	const char *last = digest ? digest : x->session.head;
	if (r == 0)
		r = text_check(last, sizeof x->way.at, "step", err);
	if (r < 0) {
		journal_export_done(x);
		return r;
	}
	snprintf(x->way.at, sizeof x->way.at, "%s", last);
	*out = x;
	return 0;
}

bool journal_export_is_whole(const struct journal_export *x)
{
	return x->bad == 0 && x->state == STATE_WHOLE;
}

char *journal_export_take(struct journal_export *x, size_t *bytes)
{
	*bytes = x->bytes;
	return take_ptr(x->text);
}

void journal_export_done(struct journal_export *x)
{
	if (!x)
		return;
	step_done(x);
	if (x->to)
		(void)fclose(x->to);
	free(x->text);
	free(x->digest);
	journal_session_done(&x->session);
	free(x);
}
