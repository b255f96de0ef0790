/* Calls that follow a process for some time. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/calls.h"
#include "session/process/process.h"

/* Describe the process, and name its session. Returns: a new object. */
json_t *process_reader_about(struct operation_call *call, const struct process *p);

/*
 * Send the output of the process as events, from the given offsets, and answer with what the
 * process is when it is over and all of its output was sent. A client that reads slowly gets the
 * events as it reads. A cancelled call is answered at once: the client has detached. If the output
 * is held and nobody else follows the process, the program then no longer waits for a reader.
 */
void process_reader_attach(struct operation_call *call, struct process *p, uint64_t stdout_offset,
	uint64_t stderr_offset);

/* As process_reader_attach(), from the beginning of the output, for the call that has started the
 * process: a cancelled call also kills the program. */
void process_reader_own(struct operation_call *call, struct process *p);

/* Answer with what the process is when it is over, when @timeout_ms are over, or when the call is
 * cancelled. */
void process_reader_wait(struct operation_call *call, struct process *p, uint64_t timeout_ms);

/* Write @data, and end the input if @is_end. Answered with {"bytes": n} when the program's pipe has
 * all of it. Owns: takes @data, which is from malloc(), or NULL. */
void process_reader_write(
	struct operation_call *call, struct process *p, char *data, size_t bytes, bool is_end);

/* Make the event of one chunk of output: text if it is UTF-8, else base64. Returns: the bytes of
 * @data that are in it, which are fewer if the chunk ends inside a character and more will follow.
 */
size_t process_chunk_json(json_t *out, const char *data, size_t bytes, bool is_end);
