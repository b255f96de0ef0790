/* Asking a person for approval, through the client. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/mcp/job.h"

/* Build the request for a form with one check box, "Allow". @text is shown above the box,
 * @description beside it. Owns: takes @text; the caller decrefs the result. */
json_t *mcp_approval_question(json_t *text, const char *description);

/* Return whether the person has ticked the box and submitted the form. Any other response counts as
 * a refusal. */
bool mcp_approval_is_given(const json_t *answer);

/*
 * Ask the person about the tool calls that wait for approval. @record: the record of a running
 * step, which lists these calls. Asking ends the job.
 * Returns: false if no call waits for approval, or if the client cannot show forms; the job then
 *          continues.
 */
bool mcp_job_ask_for(struct mcp_job *job, const json_t *record);
/* Continue a call whose handler is called again after mcp_job_ask_for(). Pass the person's
 * decisions, which are in the client's responses, on to the engine, and wait for the run. Returns:
 * false if mcp_job_ask_for() was not used for the call; nothing is then done. */
bool mcp_job_go_on(struct mcp_job *job);
/* Interrupt the run that mcp_job_ask_for() has named in the state of the call. Do nothing if the
 * call has no such state. */
void mcp_job_interrupt(const struct mcp_job *job);
