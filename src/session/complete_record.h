/* Adds the list of files and the step's name to a step's record.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct session;

/*
 * List the files that the step changed, and compute the step's name with record_name(). The event
 * STEP_NAMED follows: at once or, if there is much output or there are many files, when a thread
 * has done the work. Until then only that thread uses the record. If the session is closed
 * meanwhile, it is freed when the thread has ended.
 */
void complete_record(struct session *s);
