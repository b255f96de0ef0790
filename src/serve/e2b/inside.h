/* What the files of the front "e2b" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "serve/front/wire.h"

enum {
	E2B_ID_BYTES = 21,    /* "i" and 19 characters of [a-z2-7]; also the name of a session */
	E2B_TOKEN_BYTES = 41, /* of a token, with its NUL */
	E2B_DATE_BYTES = 32,
	E2B_PATH_BYTES = 4096,
	E2B_NAME_BYTES = 64, /* of a template */
};

/* Ports of a sandbox at which real sandboxes have two servers. They only tell requests apart. */
enum { E2B_ENVD_PORT = 49983, E2B_CODE_PORT = 49999 };

/* The version of E2B's envd that is spoken. */
#define E2B_ENVD_VERSION "0.6.13"

/* The phases of a sandbox. Clients know it in E2B_RUNNING and E2B_PAUSED. */
enum e2b_phase { E2B_MAKING, E2B_RUNNING, E2B_PAUSED, E2B_ENDING };

/* A process that a client has started in a sandbox. */
struct e2b_process {
	struct e2b_process *next;
	char id[64];	   /* as operations know it */
	json_int_t pid;	   /* as clients know it */
	json_t *config;	   /* ProcessConfig: cmd, args, envs?, cwd? */
	json_t *tag;	   /* text, or NULL */
	uint64_t ended_ms; /* since 1970; 0: it was not seen to end */
};

/* A sandbox, from the request for it until its session is closed. */
struct e2b_sandbox {
	struct e2b_sandbox *next;
	struct e2b *e2b;
	const struct operation_context *context; /* with the principal whose sandbox it is */
	enum e2b_phase phase;
	char id[E2B_ID_BYTES];
	/* What requests to the sandbox itself have to send: `token` at all places, `traffic` at
	 * E2B_CODE_PORT and at the ports of programs. */
	char token[E2B_TOKEN_BYTES], traffic[E2B_TOKEN_BYTES];
	json_t *template;    /* text: templateID, as asked for */
	json_t *metadata;    /* object of texts */
	json_t *env;	     /* object of texts: envVars, and E2B_SANDBOX_ID and its like */
	json_t *network;     /* object as asked for, or NULL */
	json_t *rules;	     /* array: the network rules of its session */
	json_t *host;	     /* text: the domain of its hosts */
	bool is_paused_late; /* at the end of its time it is paused, not ended */
	bool is_paused_cold; /* then its processes are ended, not stopped */
	bool resumes_itself; /* autoResume: a request makes it run again */
	bool is_copy;	     /* of a snapshot or a sandbox: its session has the `env` of that */
	uint64_t started_ms; /* since 1970 */
	uint64_t end_ms;     /* since 1970: then it is ended or paused */
	uint64_t last_ms;    /* since 1970: then the engine ends its session; 0: never */
	uint64_t idle_ms;    /* so long the engine keeps its session without use */
	uint64_t used_ms;    /* since 1970: when the front used it last for its own sake */
	struct e2b_process *processes;
	json_t *samples;		  /* of metrics.c, or NULL */
	struct e2b_watcher *watchers;	  /* of watch.c */
	json_t *contexts;		  /* of code.c, or NULL */
	struct e2b_execution *executions; /* of code.c: cells that run */
	/* The request that waits for its beginning or its end, or NULL. */
	struct front_call *caller;
	struct operation_call *call;
};

/* A snapshot: a session that new sandboxes are branches of. It is in the list when it is made. */
struct e2b_snapshot {
	struct e2b_snapshot *next;
	struct e2b *e2b;
	const struct operation_context *context;
	char session[E2B_ID_BYTES];
	json_t *id;				  /* text: snapshotID, which is NAME:TAG */
	json_t *names;				  /* array of texts */
	json_t *origin;				  /* text: id of the sandbox */
	json_t *env, *rules, *network, *contexts; /* of the sandbox */
	uint64_t made_ms, idle_ms, used_ms;
	/* The request that waits for its end, or NULL. */
	struct front_call *caller;
	struct operation_call *call;
};

/* All sandboxes and snapshots. It is the wire's `own` state. */
struct e2b {
	struct e2b_sandbox *sandboxes; /* newest first */
	struct e2b_snapshot *snapshots;
	unsigned n_sandboxes;
	unsigned n_snapshots; /* also those that are being made or closed */
	uv_timer_t clock;
	bool is_closing, is_closed; /* the clock is closed; both at the engine's end */
};

/* ---- e2b.c ---- */

/* Answer with the error of the control API: {"code": @status, "message": @message}. */
void e2b_refuse(struct front_call *c, unsigned status, const char *fmt, ...) attr_printf(3, 4);
/* Answer with a text, as the code interpreter does. */
void e2b_answer_text(struct front_call *c, unsigned status, const char *text);
/* Kinds of members of a request. */
enum e2b_kind {
	E2B_TEXT,  /* not empty */
	E2B_COUNT, /* a whole number of 0 or more */
	E2B_BOOL,
	E2B_OBJECT,
	E2B_MAP,  /* an object of texts */
	E2B_LIST, /* a list of texts */
};

struct e2b_member {
	const char *name;
	enum e2b_kind kind;
	bool is_needed;
	int64_t max; /* of E2B_COUNT; bytes of E2B_TEXT, and of all texts of E2B_MAP and E2B_LIST */
};

/* Drop members of @body that are null, and check the others; those without a row may be anything.
 * Returns: false, and the request was answered with status 400. */
bool e2b_check(
	struct front_call *c, json_t *body, const struct e2b_member *members, size_t n_members);
/* Take the escapes of a URL out of @text. Returns: false if there is a NUL in it. */
bool e2b_unescape(char *text);
/* Return a parameter of the query without its escapes, which becomes a member of the body; NULL:
 * the query has none. */
const char *e2b_query(struct front_call *c, const char *name);
/* Return the part of the request's path behind the first @dir, such as "/sandboxes/", without its
 * escapes. Returns: false if it is too long, or not a text. */
bool e2b_read_path(const struct front_call *c, const char *dir, char out[E2B_PATH_BYTES]);
/* Make a random name of @bytes with its NUL, beginning with @prefix: lower-case letters and digits.
 */
void e2b_make_id(char *out, size_t bytes, const char *prefix);
/* Write the time @ms since 1970 as RFC 3339. */
void e2b_date(char out[E2B_DATE_BYTES], uint64_t ms);
uint64_t e2b_now(void); /* ms since 1970 */
/* Return whether a client has sent the secret @right. The time taken does not depend on how much of
 * @given is right. */
bool e2b_is_secret(const char *right, const char *given);

/* ---- sandboxes: sandbox.c ---- */

/* Return the state, made for the first request. */
struct e2b *e2b_of(const struct front_call *c);
/* As `stop` of struct front_wire. */
bool e2b_stop(struct front_state *state);
/* Return a sandbox that runs or is paused, of any principal; or NULL. */
struct e2b_sandbox *e2b_find(const struct e2b *e, const char *id);
/* Return a sandbox of the caller; or NULL. */
struct e2b_sandbox *e2b_find_own(const struct front_call *c, const char *id);
/* Make a sandbox, which is not in the list yet. */
struct e2b_sandbox *e2b_new(struct front_call *c);
/* Make its session. @made is called once, and must end the call: @s NULL: see @err. */
void e2b_make(struct front_call *c, struct e2b_sandbox *s, const char *operation, json_t *params,
	void (*made)(struct front_call *c, struct e2b_sandbox *s, const struct err *err));
/* Return whether the client has gone, so that nobody will know what is made for it. */
bool e2b_has_left(const struct front_call *c);
/* End a sandbox. @c: answered with status 204 when its box is gone; or NULL. */
void e2b_end(struct e2b_sandbox *s, struct front_call *c);
/* Stop or continue its processes. @is_cold: end them. */
void e2b_pause(struct e2b_sandbox *s, bool is_cold);
void e2b_resume(struct e2b_sandbox *s);
/* Continue a sandbox because a request has come, for E2B_TIMEOUT_S. */
void e2b_wake(struct e2b_sandbox *s);
/* Return the variables that each program and cell of the sandbox gets, beside those of its session.
 * Owns: the caller decrefs. */
json_t *e2b_call_env(const struct e2b_sandbox *s);
/* Kill the processes that clients have started. */
void e2b_kill_processes(struct e2b_sandbox *s);
/* Set when its time is over: @seconds from now, but not after the end of its session. */
void e2b_set_time(struct e2b_sandbox *s, uint64_t seconds);
/* Let the session count as used, if it is about to end for want of use. Returns: false if the
 * session is gone. */
bool e2b_use(const struct operation_context *context, const char *session, uint64_t idle_ms,
	uint64_t *used_ms);
/* Remember or forget a process. */
void e2b_add_process(struct e2b_sandbox *s, struct e2b_process *p);
void e2b_drop_process(struct e2b_sandbox *s, const char *id);

/*
 * Find the sandbox that a request to it is for, by headers or by the host, at @port, and check its
 * token. The call then goes on in the context of the sandbox. Returns: NULL, and the request was
 * answered, if there is none, or if the token is missing.
 */
struct e2b_sandbox *e2b_enter(struct front_call *c, unsigned port);
/* Return the id of the sandbox that the request has in its headers or its host, and the port; NULL
 * if it has none. */
const char *e2b_read_place(const struct front_call *c, unsigned *port);
/* Answer that the sandbox is not there, or is paused: status 502. */
void e2b_answer_lost(struct front_call *c, const char *id);

/* ---- the control API: control.c ---- */

/* Most seconds until a sandbox ends. */
enum { E2B_TIMEOUT_MAX_S = 30 * 24 * 3600, E2B_TIMEOUT_S = 300, E2B_OLD_TIMEOUT_S = 15 };

void e2b_start_create(struct front_call *c);	 /* POST /v2/sandboxes */
void e2b_start_old_create(struct front_call *c); /* POST /sandboxes */
void e2b_start_sandbox(struct front_call *c);	 /* GET /sandboxes/ID… */
/* As it is told to clients that have made or found it. Owns: the caller decrefs. */
json_t *e2b_sandbox_json(const struct e2b_sandbox *s);
/* The same with all that is known of it. */
json_t *e2b_detail_json(const struct e2b_sandbox *s);
/* Add cpuCount, memoryMB and diskSizeMB: the limits of the boxes of fronts. */
void e2b_put_limits(const struct front_state *state, json_t *out);
/* Return a limit of the boxes of fronts, as session.create names it. */
double e2b_limit(const struct front_state *state, const char *name);
/* Is it a name of E2B for a box without anything special? */
bool e2b_is_plain(const char *template);
/* Write the name of a template without the namespace before it and the usual tags behind it.
 * Returns: false if no template can have the name. */
bool e2b_read_template(char out[E2B_NAME_BYTES], const char *template);
/* Read "/sandboxes/ID" or "/sandboxes/ID/WORD". Returns: the caller's sandbox, and *@word, "" if
 * there is none; or NULL, and the request was answered. */
struct e2b_sandbox *e2b_read_sandbox(
	struct front_call *c, char path[E2B_PATH_BYTES], const char **word);
void e2b_refuse_missing(struct front_call *c, const char *id);

/* ---- control_state.c, control_list.c, metrics.c, network.c, snapshot.c, template.c ---- */

void e2b_start_sandbox_action(struct front_call *c); /* POST /sandboxes/ID/… */
void e2b_start_sandbox_end(struct front_call *c);    /* DELETE /sandboxes/ID */
void e2b_start_sandbox_put(struct front_call *c);    /* PUT /sandboxes/ID/network */

void e2b_start_list(struct front_call *c);	/* GET /v2/sandboxes */
void e2b_start_old_list(struct front_call *c);	/* GET /sandboxes */
void e2b_start_snapshots(struct front_call *c); /* GET /snapshots */

void e2b_start_metrics(struct front_call *c, struct e2b_sandbox *s);
void e2b_start_all_metrics(struct front_call *c); /* GET /sandboxes/metrics */

/* Make the network rules of a box: the operator's, as far as @network (or NULL) leaves them.
 * Owns: the caller decrefs. Returns: NULL, and the request was answered, if rules cannot say what
 * is asked for. */
json_t *e2b_read_network(struct front_call *c, json_t *network, bool has_internet);
/* Change the rules of a sandbox that runs: PUT /sandboxes/ID/network. */
void e2b_start_network(struct front_call *c, struct e2b_sandbox *s);

/* Make a snapshot, or forks, of a sandbox that runs. */
void e2b_start_snapshot(struct front_call *c, struct e2b_sandbox *s);
void e2b_start_fork(struct front_call *c, struct e2b_sandbox *s);
/* Return a snapshot of the caller by its id, or by its name without the tag "default"; or NULL. */
struct e2b_snapshot *e2b_find_snapshot(const struct front_call *c, const char *id);
/* As it is told to clients. Owns: the caller decrefs. */
json_t *e2b_snapshot_json(const struct e2b_snapshot *s);
/* End a snapshot. @c: answered with status 204 when its session is closed; or NULL. */
void e2b_end_snapshot(struct e2b_snapshot *s, struct front_call *c);

/* Templates, and the rest of the control API. */
void e2b_start_templates(struct front_call *c);	   /* GET /templates, GET /v2/templates */
void e2b_start_template(struct front_call *c);	   /* GET /templates/… */
void e2b_start_template_end(struct front_call *c); /* DELETE /templates/ID */
void e2b_start_teams(struct front_call *c);	   /* GET /teams */
void e2b_start_unsupported(struct front_call *c);  /* what a sandbox of retort has not */

/* ---- Connect: rpc.c ---- */

/*
 * Read the message of a request: its body is JSON, or JSON in an envelope (@is_stream). It becomes
 * c->body. Returns: false, and the request was answered, if it is something else.
 * Source: connectrpc.com, "Connect Protocol Reference".
 */
bool e2b_read_message(struct front_call *c, bool is_stream);
/* Check that the body has the type of messages, and is not packed. Returns: as above. */
bool e2b_check_type(struct front_call *c, bool is_stream);
/* A message of a stream. */
struct e2b_envelope {
	const char *data;
	size_t bytes, all_bytes; /* of the message; of the envelope with it */
	bool is_compressed;
};
/* Read the envelope at the beginning of @data. Returns: whether all of it is there. If only its
 * head is, @e has that. */
bool e2b_read_envelope(struct e2b_envelope *e, const char *data, size_t bytes);
/* A procedure of a service; `start` must answer. */
struct e2b_procedure {
	const char *name;
	bool is_stream;
	void (*start)(struct front_call *c, struct e2b_sandbox *s);
};

/*
 * Find the procedure of @all that the path of the request names behind @dir, check the token of the
 * sandbox, and read the message. Returns: the sandbox, and *@found; or NULL, and the request was
 * answered.
 */
struct e2b_sandbox *e2b_enter_procedure(struct front_call *c, const char *dir,
	const struct e2b_procedure *all, size_t n, const struct e2b_procedure **found);
/* Return the word of Connect for an error, such as "not_found". */
const char *e2b_rpc_word(enum err_code code);
/* Answer a unary request with an error. @word: of Connect. */
void e2b_rpc_refuse(struct front_call *c, const char *word, const char *fmt, ...) attr_printf(3, 4);
void e2b_rpc_fail(struct front_call *c, const struct err *err);
/* Return the user that the request names; "" if it names none. */
const char *e2b_rpc_user(const struct front_call *c, char out[64]);

/* A response that is a stream of messages. */
struct e2b_stream;

/* Begin a stream. It ends with e2b_stream_end() or e2b_stream_cut(), which end the call, too. While
 * nothing is sent, "keepalive" messages go out, which @keepalive is copied from. @late is called
 * when the time of Connect-Timeout-Ms is over; NULL: nothing happens then. */
struct e2b_stream *e2b_stream_open(struct front_call *c, const char *keepalive,
	void (*late)(struct front_call *c, struct e2b_stream *s));
/* Send a message. Owns: takes @message. Returns: false if the client has gone, or does not read. */
bool e2b_stream_send(struct e2b_stream *s, json_t *message);
/* End the stream; @word NULL: without an error. */
void e2b_stream_end(struct e2b_stream *s, const char *word, const char *message);
/* Answer with a stream that has nothing but an error. */
void e2b_stream_refuse(struct front_call *c, const char *word, const char *message);
/* Break off, as the sandbox has gone. */
void e2b_stream_cut(struct e2b_stream *s);

/* ---- services of a sandbox ---- */

void e2b_start_process(struct front_call *c);	   /* process.c: POST /process.Process/… */
void e2b_start_stream_input(struct front_call *c); /* input.c: POST /process.Process/StreamInput */
/* process.c: find the process that @selector names. Returns: NULL, with @err, if there is none. */
struct e2b_process *e2b_find_process(
	struct e2b_sandbox *s, const json_t *selector, struct err *err);
/* process.c: put a ProcessInput into @params of process.write. Returns: false if it is none, which
 * E2B_WRONG_INPUT says. */
#define E2B_WRONG_INPUT "input.stdin or input.pty must be bytes in base64"
bool e2b_put_input(json_t *params, const json_t *input);
/* process.c: return the word of Connect for an error of process.write. */
const char *e2b_input_word(const struct err *err);
void e2b_start_filesystem(struct front_call *c); /* files.c: POST /filesystem.Filesystem/… */
void e2b_start_download(struct front_call *c);	 /* transfer.c: GET /files */
void e2b_start_upload(struct front_call *c);	 /* upload.c: POST /files */
void e2b_start_envs(struct front_call *c);	 /* transfer.c: GET /envs */
/* watch.c: forget the watchers of a sandbox. */
void e2b_drop_watchers(struct e2b_sandbox *s);
void e2b_start_execute(struct front_call *c);	  /* code.c: POST /execute */
void e2b_start_contexts(struct front_call *c);	  /* code.c: GET /contexts */
void e2b_start_new_context(struct front_call *c); /* code.c: POST /contexts */
void e2b_start_context_restart(struct front_call *c);
void e2b_start_context_end(struct front_call *c);
