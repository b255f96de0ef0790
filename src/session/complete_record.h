/* The record of a step that has ended lists its files and gets its name. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

struct session;

/*
 * What the step did to files, and a name from what it was and what came out of it, see
 * record_name(). STEP_NAMED follows: at once,
 * or, where much came out or many files are there, when a thread is done with it; until then the
 * record is the thread's, and a session that is closed waits for it.
 */
void complete_record(struct session *s);
