/* What the files of the front "sandboxfusion" share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "serve/front/inside.h"

/* Make the answer of run_code. @result: of program.run, or NULL. */
json_t *fusion_answer(const char *status, const char *message, const json_t *result);
/* Make the answer of run_code for a program that has come to an end, whose `status` is that of
 * @result, with a message that says what the answer lacks. */
json_t *fusion_ended(const json_t *result);

/* Refuse the member @name of the body, as FastAPI does. */
void fusion_refuse(struct front_call *c, const char *name, const char *type, const char *message);

/* Handlers of routes with test cases. */
void fusion_submit(struct front_call *c);
void fusion_evaluate(struct front_call *c);
