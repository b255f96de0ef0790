/* Writing a recording. SPDX-License-Identifier: Apache-2.0 */
#include "store/recording.h"

#include "base/utf8.h"
#include "store/call_step.h"
#include "store/file_step.h"
#include "store/line.h"
#include "store/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct path {
	char (*digest)[JOURNAL_DIGEST_BYTES]; /* from the last to the first */
	size_t n, room;
	int version; /* of the recording */
};

static void path_done(struct path *p)
{
	free(p->digest);
}

static int collect(void *user, const struct journal_node *node, struct err *err)
{
	struct path *p = user;
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		void *more = realloc(p->digest, room * sizeof *p->digest);
		if (!more)
			return err_set(err, ERR_NO_MEMORY, "export %zu steps", p->n);
		p->digest = more;
		p->room = room;
	}
	if (p->n == RECORDING_STEPS_MAX)
		return err_set(err, ERR_LIMIT, "export: more than %d steps", RECORDING_STEPS_MAX);
	json_t *calls = p->version < RECORDING_CALLS ? call_step_calls(node) : NULL;
	if (file_step_is(node))
		p->version = MAX(p->version, (int)RECORDING_FILES);
	if (calls)
		p->version = RECORDING_CALLS;
	json_decref(calls);
	memcpy(p->digest[p->n++], node->digest, JOURNAL_DIGEST_BYTES);
	return 0;
}

static json_t *text_json(const char *data, size_t bytes)
{
	if (utf8_is_valid(data, bytes))
		return json_stringn_nocheck(data, bytes);
	size_t room = sodium_base64_encoded_len(bytes, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(room);
	if (!text)
		return NULL;
	(void)sodium_bin2base64(
		text, room, (const unsigned char *)data, bytes, sodium_base64_VARIANT_ORIGINAL);
	json_t *out = json_pack("{s:s}", "base64", text);
	free(text);
	return out;
}

/* Consumes @line. @left is what the file may still grow by. */
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

static int write_head(FILE *to, const struct journal_session *s, const struct path *p, size_t *left,
	struct err *err)
{
	const char *head = p->n > 0 ? p->digest[0] : "";
	char check[JOURNAL_DIGEST_BYTES];
	line_check(check, s->order, s->order_bytes, p->n, head);
	json_t *line = json_pack("{s:i, s:o, s:I, s:s, s:s}", "retort_record", p->version, "order",
		text_json(s->order, s->order_bytes), "steps", (json_int_t)p->n, "head", head,
		"check", check);
	return write_line(to, line, left, err);
}

static int add_content(
	struct journal *j, const struct journal_node *node, json_t *line, struct err *err)
{
	struct file_step file;
	char *data;
	size_t bytes;
	int r = file_step_read(&file, node, err);
	if (r < 0 || file.is_removal)
		return r;
	r = journal_blob_get(j, file.digest, &data, &bytes, err);
	if (r < 0)
		return r;
	(void)json_object_set_new(line, "content", text_json(data, bytes));
	free(data);
	return 0;
}

/* What its calls of tools were answered. */
static int add_answers(
	struct journal *j, const struct journal_node *node, json_t *line, struct err *err)
{
	json_t *answers, *calls = call_step_calls(node);
	int r = calls ? call_step_answers(j, calls, &answers, err) : 0;
	if (calls && r == 0)
		(void)json_object_set_new(line, "answers", answers);
	json_decref(calls);
	return r;
}

static int write_step(
	struct journal *j, FILE *to, const char *digest, size_t *left, struct err *err)
{
	struct journal_node node;
	int r = journal_node_get(j, digest, &node, err);
	if (r < 0)
		return r;
	json_t *line = json_pack("{s:s, s:s, s:s, s:o, s:o}", "step", node.digest, "parent",
		node.parent, "runtime", node.runtime, "code", text_json(node.code, node.code_bytes),
		"record", text_json(node.record, node.record_bytes));
	if (line && file_step_is(&node))
		r = add_content(j, &node, line, err);
	else if (line)
		r = add_answers(j, &node, line, err);
	journal_node_done(&node);
	if (r < 0) {
		json_decref(line);
		return r;
	}
	return write_line(to, line, left, err);
}

int journal_export(
	struct journal *j, const char *session, const char *digest, FILE *to, struct err *err)
{
	cleanup(path_done) struct path path = {.version = RECORDING_PLAIN};
	cleanup(journal_session_done) struct journal_session s;
	size_t left = RECORDING_MAX;
	int r = journal_session_get(j, session, &s, err);
	if (r < 0)
		return r;
	int64_t n = journal_ancestors(j, digest ? digest : s.head, 0, collect, &path, err);
	r = n < 0 ? (int)n : write_head(to, &s, &path, &left, err);
	for (size_t i = path.n; i > 0 && r == 0; i--)
		r = write_step(j, to, path.digest[i - 1], &left, err);
	errno = 0;
	if (r == 0 && fflush(to) == EOF)
		r = err_sys(err, errno == ENOSPC ? ERR_NO_SPACE : ERR_IO, errno ? errno : EIO,
			"write the recording");
	return r;
}
