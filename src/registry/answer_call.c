/*
 * Tool calls that code in a session's box makes.
 *
 * A call of a step goes to the gate (api/gate/gate.c), which answers it asynchronously. The answer
 * is written to the journal before the box gets it (entry_on_keep()). An answer from an untrusted
 * source taints the session, in the journal too.
 *
 * When a step is replayed, its calls never go to the gate, because their effects would happen
 * twice. Each call gets the answer that the step's record has for it. A recorded call matches if it
 * has the same name and the same arguments (by digest). If several match, the first unused one is
 * taken. The order of calls is not compared, since threads may call in another order.
 *
 * A call that the record does not have is answered with ToolLost and reported as a difference. A
 * recorded and answered call that the replay does not make is reported too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "base/utf8.h"
#include "registry/admit.h"
#include "registry/entry.h"
#include "registry/session_table.h"
#include "registry/replay.h"
#include "session/tool_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 150, DIFFERENCE_BYTES = TOOL_NAME_MAX + 32 };

/* ---- calls of a step, which the gate answers ---- */

void entry_on_call(void *arg, struct tool_call *call)
{
	struct entry *e = arg;
	const struct tool_gate *gate = e->table->gate;
	call->owner = e->owner;
	call->is_tainted = e->is_tainted;
	call->is_trial = e->is_trial;
	if (e->replay)
		replay_call(e, call);
	else if (gate)
		gate->call(gate->arg, call);
	else
		tool_call_deny(call);
}

void entry_on_cancel(void *arg, struct tool_call *call)
{
	struct entry *e = arg;
	const struct tool_gate *gate = e->table->gate;
	if (!e->replay && gate)
		gate->cancel(gate->arg, call);
}

int entry_on_keep(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err)
{
	struct entry *e = arg;
	char digest[DIGEST_BYTES];
	if (e->replay)
		return 0;
	if (is_untrusted && !e->is_tainted) {
		int r = journal_session_taint(e->table->journal, e->id, err);
		if (r < 0)
			return r;
		e->is_tainted = true;
	}
	digest_text(digest, text, bytes);
	return admit_blob(e, text, bytes, digest, err);
}

/* ---- calls of a replay, which are answered from the record ---- */

static const char *word(const json_t *call, const char *member)
{
	const char *text = json_string_value(json_object_get(call, member));
	return text ? text : "";
}

static void differ(struct replay *r, size_t number, const char *was, const char *is)
{
	if (r->is_diverged)
		return;
	r->is_diverged = true;
	r->first = r->at;
	snprintf(r->field, sizeof r->field, "tool call %zu", number);
	snprintf(r->was, sizeof r->was, "%.*s", (int)utf8_cut(was, strlen(was), WORD_BYTES), was);
	snprintf(r->is, sizeof r->is, "%.*s", (int)utf8_cut(is, strlen(is), WORD_BYTES), is);
}

/* Find the first recorded call with the name and arguments of @call, and remove it from
 * @r->calls. Owns: the caller decrefs. Returns: NULL if no recorded call matches. */
static json_t *take_kept(struct replay *r, const struct tool_call *call)
{
	char digest[TOOL_DIGEST_BYTES];
	if (tool_log_arguments(digest, call->arguments) == 0)
		return NULL;
	for (size_t i = 0; i < json_array_size(r->calls); i++) {
		json_t *kept = json_array_get(r->calls, i);
		if (strcmp(word(kept, "name"), call->name) != 0 ||
			strcmp(word(kept, "arguments"), digest) != 0)
			continue;
		json_incref(kept);
		(void)json_array_remove(r->calls, i);
		return kept;
	}
	return NULL;
}

/* Return the recorded answer to the call @kept. If a recording is replayed, the answer is read
 * from the recording, never from the journal. A recording may come from anywhere and may contain
 * the digest of any blob. Its replay could then read the data of other owners from the journal. */
static json_t *answer_of(const struct session_table *table, const struct replay *r,
	const json_t *kept, struct err *err)
{
	char *text = NULL;
	size_t bytes;
	const char *digest = word(kept, "answer");
	const json_t *recorded = json_object_get(r->answers, digest);
	if (r->is_borrowed)
		return recorded ? json_loadb(json_string_value(recorded),
					  json_string_length(recorded), JSON_ALLOW_NUL, NULL)
				: NULL;
	if (journal_blob_get(table->journal, digest, &text, &bytes, err) < 0)
		return NULL;
	json_t *answer = json_loadb(text, bytes, JSON_ALLOW_NUL, NULL);
	free(text);
	return answer;
}

static json_t *not_again(void)
{
	return tool_call_error("ToolLost", "the step runs again, and did not make this call before",
		"a step that runs again makes no new calls");
}

/*
 * The replay has made a call of the tool @name. The call matches none of the remaining calls, which
 * are the recorded calls that the replay has not made yet. Write to @out which call is the first of
 * the remaining calls.
 *
 * - Usually write the name of the tool of the first call, such as "web.get".
 * - If this name equals @name, the arguments of the two calls differ. So write, for example,
 *   "web.get with other arguments".
 * - If no calls remain, write "absent".
 */
static void say_next(const struct replay *r, const char *name, char *out, size_t room)
{
	const char *next = word(json_array_get(r->calls, 0), "name");
	bool is_same = strcmp(next, name) == 0;
	snprintf(
		out, room, "%s%s", *next ? next : "absent", is_same ? " with other arguments" : "");
}

void replay_call(struct entry *e, struct tool_call *call)
{
	struct replay *r = e->replay;
	char was[DIFFERENCE_BYTES];
	json_t *kept = take_kept(r, call);
	r->n_calls++;
	if (!kept) {
		say_next(r, call->name, was, sizeof was);
		differ(r, r->n_calls, was, call->name);
		tool_call_answer(call, not_again(), false);
	} else if (*word(kept, "answer")) {
		json_t *answer = answer_of(e->table, r, kept, &r->err);
		tool_call_answer(call, answer, false);
	} /* the record has no answer to this call, so it stays unanswered */
	json_decref(kept);
}

void replay_begin_calls(struct replay *r, const struct journal_node *node)
{
	const json_t *calls = json_object_get(r->inputs, "calls");
	json_decref(r->calls);
	json_decref(r->answers);
	r->calls = calls ? json_copy(json_unconst(calls)) : NULL;
	r->answers = calls && r->is_borrowed ? json_loadb(node->extra, node->extra_bytes, 0, NULL)
					     : NULL;
	r->n_calls = 0;
}

void replay_end_calls(struct replay *r)
{
	for (size_t i = 0; i < json_array_size(r->calls); i++) {
		const json_t *kept = json_array_get(r->calls, i);
		if (*word(kept, "answer"))
			differ(r, r->n_calls + 1, word(kept, "name"), "absent");
	}
}
