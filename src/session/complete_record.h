/* The record of a step that has ended gets its list of files and its name. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

struct session;

/*
 * List what the step did to files, and compute its name, see record_name(). STEP_NAMED follows: at
 * once or, if there is much output or there are many files, when a thread has done it. Until then
 * the record belongs to the thread, and a session that is closed waits for it.
 */
void complete_record(struct session *s);
