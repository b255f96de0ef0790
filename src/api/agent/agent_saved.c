/*
 * An agent is saved before each request to the model, before each step, and at the end. What is
 * saved is the state of its loop, the parameters of its first call, and the id of its session. The
 * session itself is in the journal. API keys are not saved; a call that resumes the agent looks
 * them up again.
 *
 * A saved agent may say that a step is running although the step has ended: the process may have
 * died before it could save the agent again. Then the record of the step is in the journal.
 * find_record() passes it to the loop, as if the step had just ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/agent/agent_call.h"

#include "api/agent/models.h"
#include "api/operation/principal.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGENT_FILE_VERSION = 1 };

const char *agent_owner(const struct operation_call *call)
{
	const struct principal *p = call->context->principal;
	return p ? principal_name(p) : "";
}

static json_int_t now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* ---- opening and closing a new or saved agent ---- */

/* Parameters that are not saved with the others: each of them concerns only one call, or has its
 * own member in the file. */
static const char *const not_kept[] = {
	"task", "resume", "model", "session", "stream", "detach", "approvals"};

/* Return whether a model's name may be saved. The arguments of a program ("exec:…") and the
 * query of a URL may contain a key. */
static bool is_public(const char *model)
{
	return strncmp(model, "exec:", 5) != 0 && !strchr(model, '?');
}

static json_t *own_params(const json_t *params)
{
	json_t *out = json_copy(json_unconst(params));
	for (size_t i = 0; i < ARRAY_LEN(not_kept); i++)
		(void)json_object_del(out, not_kept[i]);
	if (!is_public(param_text(out, "query_model", "")))
		(void)json_object_del(out, "query_model");
	return out;
}

static int begin_anew(struct agent_call *a, struct err *err)
{
	const struct agent_store *place = a->call->context->agents;
	char id[AGENT_ID_BYTES] = "";
	if (!param_get(a->params, "task"))
		return err_fail(err, ERR_USAGE, "give a task, or the id of an agent to resume",
			"task: this parameter is missing");
	if (!place || !place->dir)
		return 0;
	if (place->id)
		snprintf(id, sizeof id, "%s", place->id);
	if (!id[0])
		agent_store_new_id(id);
	int r = agent_store_create(&a->stored, place->dir, id, err);
	if (r < 0)
		return r;
	const char *model = param_text(a->params, "model", "");
	a->agent = json_pack("{s:i, s:s, s:s, s:s*, s:s, s:s, s:I, s:o}", "version",
		AGENT_FILE_VERSION, "agent", id, "owner", agent_owner(a->call), "directory",
		place->directory, "task", param_text(a->params, "task", ""), "model",
		is_public(model) ? model : "", "created_ms", now_ms(), "params",
		own_params(a->params));
	return a->agent ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for a task");
}

static int open_past(struct agent_call *a, const char *id, struct err *err)
{
	const struct agent_store *place = a->call->context->agents;
	char whole[AGENT_ID_BYTES];
	if (!place || !place->dir)
		return err_fail(err, ERR_NOT_FOUND, "start the engine with a state directory",
			"resume: this engine does not save agents");
	int r = agent_store_find(whole, place->dir, id, NULL, err);
	if (r == 0)
		r = agent_store_open(&a->stored, place->dir, whole, err);
	if (r == 0 && !(a->agent = agent_store_read(&a->stored, err)))
		r = -err_errno(err->code);
	/* Do not reveal that an agent of another owner exists. */
	if (r == 0 && strcmp(json_get_text(a->agent, "owner"), agent_owner(a->call)) != 0)
		r = err_set(err, ERR_NOT_FOUND, "no agent %.40s is saved here", id);
	return r;
}

/* Add the saved parameters of the agent's first call to those of this call. If both calls have a
 * parameter, the value of this call is used. */
static int take_params(struct agent_call *a, struct err *err)
{
	json_t *now = a->params, *params = json_deep_copy(json_object_get(a->agent, "params"));
	const struct models *models = a->call->context->models;
	const char *model = json_get_text(a->agent, "model");
	if (!params || json_object_update(params, now) < 0) {
		json_decref(params);
		return err_set(err, ERR_NO_MEMORY, "no memory for a task");
	}
	const char *said = param_text(now, "model", NULL);
	if (said)
		json_put_text(a->agent, "model", is_public(said) ? said : "");
	else if (model[0] && models && models->may_name)
		json_put_text(params, "model", model);
	json_decref(now);
	a->params = params;
	return 0;
}

int agent_saved_open(struct agent_call *a, struct err *err)
{
	const char *id = param_text(a->params, "resume", NULL);
	if (id && param_get(a->params, "session"))
		return err_fail(err, ERR_USAGE,
			"leave session out: a resumed agent continues in its own session",
			"session: given together with resume");
	int r = id ? open_past(a, id, err) : begin_anew(a, err);
	if (r == 0 && id)
		r = take_params(a, err);
	a->is_kept = r == 0 && a->agent;
	return r;
}

void agent_saved_close(struct agent_call *a)
{
	const struct agent_store *place = a->call->context->agents;
	agent_store_close(&a->stored);
	/*
	 * Remove the directory of the agent if the agent was never saved. agent_store_remove()
	 * checks whether the agent was saved, and then keeps the directory.
	 * Do not call agent_store_remove() if place->id is set. In that case, the directory also
	 * contains the journal of this process, which is still open. The process removes the
	 * directory after it has closed the journal.
	 */
	if (a->stored.id[0] && !place->id)
		agent_store_remove(place->dir, a->stored.id);
	json_decref(a->agent);
	json_decref(a->record);
}

const json_t *agent_saved_loop(const struct agent_call *a)
{
	return json_object_get(a->agent, "loop");
}

const char *agent_saved_session(const struct agent_call *a)
{
	return agent_saved_loop(a) ? json_get_text(a->agent, "session") : NULL;
}

bool agent_is_unfinished(const struct agent_call *a)
{
	const char *session = agent_saved_session(a);
	return session && a->session && strcmp(session, a->session) == 0 &&
		strcmp(json_get_text(a->agent, "status"), "ok") != 0;
}

/* ---- saving an agent ---- */

static const char *end_of(const json_t *state)
{
	return strcmp(json_get_text(state, "state"), "over") == 0 ? json_get_text(state, "end")
								  : "";
}

static json_t *head_of(struct agent_call *a)
{
	struct err err;
	cleanup_json json_t *session = registry_get(a->call->context->registry, a->session, &err);
	json_t *head = json_string(json_get_text(session, "head"));
	return head;
}

/* Report, once, that the agent cannot be saved. The task continues. */
static void tell_unkept(struct agent_call *a, const struct err *why)
{
	a->is_kept = false;
	call_event(a->call, json_pack("{s:s, s:s}", "event", "agent.unkept", "message", why->msg));
}

void agent_save(void *arg, const json_t *state)
{
	struct agent_call *a = arg;
	struct err err;
	if (!a->is_kept)
		return;
	json_put_shared(a->agent, "loop", state);
	json_put_int(a->agent, "changed_ms", now_ms());
	json_put_text(a->agent, "status", end_of(state));
	json_put_text(a->agent, "session", a->session);
	json_put_bool(a->agent, "is_own", a->is_own);
	json_put_new(a->agent, "head", head_of(a));
	if (agent_store_write(&a->stored, a->agent, &err) < 0)
		tell_unkept(a, &err);
}

/* ---- the session of a resumed agent ---- */

/* The agent may have been saved while a step was running. If that step has ended since, set
 * `record` to the step's record in the journal. */
static void find_record(struct agent_call *a, const json_t *session)
{
	const json_t *loop = agent_saved_loop(a);
	const char *before = json_get_text(a->agent, "head"),
		   *head = json_get_text(session, "head");
	if (strcmp(json_get_text(loop, "state"), "running") != 0 || strcmp(before, head) == 0)
		return;
	struct err err;
	json_t *step =
		registry_head(a->call->context->registry, json_get_text(session, "session"), &err);
	const json_t *text = json_object_get(step, "record");
	bool is_ours = strcmp(json_get_text(step, "parent"), before) == 0 &&
		strcmp(json_get_text(step, "code"), json_get_text(loop, "code")) == 0;
	cleanup_json json_t *record = is_ours && json_is_string(text)
		? json_loadb(
			  json_string_value(text), json_string_length(text), JSON_ALLOW_NUL, NULL)
		: NULL;
	if (json_is_object(record)) {
		json_put_shared(record, "runtime", json_object_get(step, "runtime"));
		json_put_new(
			record, "state", json_pack("{s:s, s:n}", "outcome", "committed", "reason"));
		a->record = json_incref(record);
	}
	json_decref(step);
}

void agent_session_resumed(struct agent_call *a, const json_t *session, const char *was)
{
	const char *outcome = session ? json_get_text(session, "outcome") : "lost";
	const char *difference = json_get_text(session, "difference");
	bool is_stored = strcmp(was, "stored") == 0;
	if (!session)
		snprintf(a->remark, sizeof a->remark,
			"The session is gone: all variables and files are lost, begin with the "
			"data.");
	else if (strcmp(outcome, "diverged") == 0)
		snprintf(a->remark, sizeof a->remark,
			"The state was rebuilt by running your steps again, and it may differ "
			"(%.250s): check your variables.",
			difference);
	else if (is_stored)
		snprintf(a->remark, sizeof a->remark,
			"Variables and files are there: they were rebuilt by running your steps "
			"again.");
	if (session)
		find_record(a, session);
	if (session && !is_stored)
		outcome = "live";
	else if (session && !outcome[0])
		outcome = "replayed";
	call_event(a->call,
		json_pack("{s:s, s:s, s:s, s:s*}", "event", "agent.resumed", "agent", a->stored.id,
			"outcome", outcome, "difference", difference[0] ? difference : NULL));
}
