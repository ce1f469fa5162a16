/*
 * A deployment as its templates, in emit/, know it: names with their values.
 */
#pragma once

#include "files/template.h"
#include "orchestrator/emit/deployment.h"

/* How templates quote values. */
extern const struct template_quoting emit_quotings[];

/* All values of a deployment, an object that the caller releases. NULL: no memory. Kubernetes has
 * one pod for each GPU: its values, as of a deployment of their own, are those of "pod". */
json_t *emit_values(const struct deployment *deployment);
