/* What the files of the front "open-terminal" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "serve/front/wire.h"
#include "serve/openterminal/request.h"

enum {
	OT_SESSION_BYTES = 40, /* "ot-", 16 digits of the user, "-", and random characters */
	OT_KEY_BYTES = 65,     /* a digest */
	OT_SWEPT_MAX = 64,
	OT_PROCESSES_MAX = 256,
	OT_TERMINALS_MAX = 16, /* of a box; as in Open Terminal */
	OT_CHATS_MAX = 1024,   /* chats of a box whose working directory is known */
	OT_FILE_BYTES = 64 << 20,
};

#define OT_HOME "/home/user"

/* The phases of a box. */
enum ot_phase { OT_MAKING, OT_LIVE, OT_ENDING };

/* A request that waits for its box. */
struct ot_waiter;
/* A WebSocket of a terminal. */
struct ot_socket;

/* The box of a user: a session. */
struct ot_box {
	struct ot_box *next;
	struct ot *ot;
	const struct operation_context *context; /* with the principal whose box it is */
	enum ot_phase phase;
	char key[OT_KEY_BYTES]; /* digest of the user's id and the context */
	char session[OT_SESSION_BYTES];
	struct ot_waiter *waiters; /* while it is being made */
	json_t *chats;		   /* for each chat: its working directory */
	json_t *processes;	   /* for each process: {"chat", "command", "killed"} */
	json_t *terminals; /* for each terminal: {"process", "chat", "pid", "created", "since_ms",
			    * "connected"}; or {"opening": true, "connected": true} */
	struct operation_call *call;
};

/* All boxes. It is the wire's `own` state. */
struct ot {
	struct ot_box *boxes;
	struct ot_socket *sockets;
	unsigned n_boxes;
	uint64_t idle_ms;
	/* Those whose boxes of an engine that was killed were looked for: the last ones. */
	const struct operation_context *swept[OT_SWEPT_MAX];
	unsigned n_swept;
	uv_timer_t clock;
	bool is_closing, is_closed; /* the clock is closed; both at the engine's end */
};

/* ---- openterminal.c: answers ---- */

/* Answer with {"detail": …}, as FastAPI does. */
void ot_refuse(struct front_call *c, unsigned status, const char *fmt, ...) attr_printf(3, 4);
/* Answer with {"error": …}, as Open Terminal does where it is about terminals. */
void ot_refuse_terminal(struct front_call *c, unsigned status, const char *message);
/* Answer with status 422: a value of the request is wrong. @where: "query", "body" or "path". */
void ot_invalid(struct front_call *c, const char *where, const char *name, const char *message);

/* ---- box.c ---- */

/* Find the box of the request's user, or make it, and call @then; or answer why there is none. From
 * then on, c->kept is {"session", "chat", "cwd", "query": {name: [values]}}. */
void ot_enter(struct front_call *c, void (*then)(struct front_call *c));
/* Return the box of a call that has entered one; NULL: it is gone. */
struct ot_box *ot_find(const struct front_call *c);
/* Return the box with a terminal of that id, of any user; or NULL. */
struct ot_box *ot_find_terminal(const struct front_state *state, const char *id);
/* End a terminal, and forget it. */
void ot_drop_terminal(struct ot_box *b, const char *id);
/* As `stop` of struct front_wire. */
bool ot_stop(struct front_state *state);
uint64_t ot_now(void); /* ms since 1970 */

/* ---- request.c reads values; these answer if one is wrong ---- */

/* Return the value @name of the query, NULL if it is missing. */
const char *ot_query(const struct front_call *c, const char *name);
/* Read a number, a flag or a path of the query. *@out is unchanged if it is missing. Returns:
 * false, and the request was answered, if it is wrong. */
bool ot_query_number(struct front_call *c, const char *name, double min, double max, double *out);
bool ot_query_flag(struct front_call *c, const char *name, bool *out);
bool ot_query_path(
	struct front_call *c, const char *name, const char *fallback, char out[OT_PATH_BYTES]);
/* Take relative paths from here on as relative to the home, not to the working directory of the
 * chat: as Open Terminal does where its clients are programs, not models. */
void ot_at_home(struct front_call *c);
/* Return a text of the body. Returns: NULL, and the request was answered, if it is missing. */
const char *ot_body_text(struct front_call *c, const char *name);
bool ot_body_path(struct front_call *c, const char *name, char out[OT_PATH_BYTES]);
/* Return {"session": …, ...} for an operation on the box of @c. Owns: the caller decrefs. */
json_t *ot_params(const struct front_call *c);
/* End a call whose client has gone. Returns: whether it has. */
bool ot_is_left(struct front_call *c);

/* Return the media type of a file by its name. */
const char *ot_type(const char *path);

/* ---- read.c: the content of a file of the box ---- */

/* Read a file whole, up to OT_FILE_BYTES, and call @then once: @content is the file's; NULL: see
 * @err. c->own belongs to it until then. */
void ot_read(struct front_call *c, const char *path,
	void (*then)(struct front_call *c, const struct buf *content, const struct err *err));
/* Answer with a file as it is. @is_removed: remove it afterwards. */
void ot_send(struct front_call *c, const char *path, bool is_removed);

/* ---- tool.c ---- */

/* Run the program of tool.c in the box with @task as its argument, and call @then with what it
 * answers; NULL: see @err. */
void ot_run_tool(struct front_call *c, json_t *task,
	void (*then)(struct front_call *c, const json_t *answer, const struct err *err));

/* ---- handlers of routes ---- */

void ot_start_cwd(struct front_call *c);
void ot_start_set_cwd(struct front_call *c);
void ot_start_list(struct front_call *c);
void ot_start_read(struct front_call *c);
void ot_start_display(struct front_call *c);
void ot_start_view(struct front_call *c);
void ot_start_serve(struct front_call *c);
void ot_start_write(struct front_call *c);
void ot_start_mkdir(struct front_call *c);
void ot_start_delete(struct front_call *c);
void ot_start_move(struct front_call *c);
void ot_start_replace(struct front_call *c);
void ot_start_upload(struct front_call *c);
void ot_start_archive(struct front_call *c);
void ot_start_grep(struct front_call *c);
void ot_start_glob(struct front_call *c);
void ot_start_search(struct front_call *c);
void ot_start_matches(struct front_call *c);
void ot_start_processes(struct front_call *c);
void ot_start_execute(struct front_call *c);
void ot_start_process(struct front_call *c); /* GET /execute/ID/status */
void ot_start_input(struct front_call *c);   /* POST /execute/ID/input */
void ot_start_kill(struct front_call *c);
void ot_start_terminals(struct front_call *c);
void ot_start_new_terminal(struct front_call *c);
void ot_start_terminal(struct front_call *c); /* GET /api/terminals/ID, also as a WebSocket */
void ot_start_terminal_end(struct front_call *c);
void ot_start_terminal_output(struct front_call *c);
void ot_start_terminal_input(struct front_call *c);
void ot_start_ports(struct front_call *c);
void ot_start_proxy(struct front_call *c);
void ot_start_openapi(struct front_call *c);

/* ---- socket.c ---- */

/* Open the WebSocket of a terminal. The client has not shown a token yet. */
void ot_open_socket(struct front_call *c, const char *id);
