/* Kubernetes: a Deployment of one pod, with the daemon as a sidecar and a container a worker. */
#include "orchestrator/emit/container.h"

static void write_variable(FILE *file, const char *name, const char *value)
{
    fprintf(file, "            - name: \"%s\"\n              value: ", name);
    emit_yaml(file, value, true);
    fputc('\n', file);
}

static void write_mounts(FILE *file)
{
    fputs("          volumeMounts:\n"
          "            - {name: \"run\", mountPath: \"" CONTAINER_RUN "\"}\n"
          "            - {name: \"shm\", mountPath: \"/dev/shm\"}\n"
          "            - {name: \"scripts\", mountPath: \"" CONTAINER_SCRIPTS "\"}\n",
          file);
}

/* One GPU is allotted to one container of a pod: the others follow it. */
static bool shares_gpu(const struct deployment *deployment)
{
    return deployment->mps || deployment->processes > deployment->gpu_count;
}

static void write_sidecar(FILE *file, const struct deployment *deployment)
{
    fprintf(file,
            "      initContainers:\n"
            "        # A sidecar: ready before the workers start, and ended after them.\n"
            "        - name: \"%s\"\n"
            "          restartPolicy: \"Always\"\n"
            "          image: \"" CONTAINER_DAEMON_IMAGE "\"\n"
            "          command: [\"sh\", \"" CONTAINER_SCRIPTS "/mps\", \"%s\"]\n"
            "          resources:\n"
            "            limits: {nvidia.com/gpu: 1}\n"
            "          env:\n",
            deployment->mps ? "mps" : "gpu", deployment->mps ? "run" : "hold");
    container_write_environment(file, deployment, CONTAINER_DAEMON, NULL, write_variable);
    write_variable(file, "MPSWEEP_GPU_FILE", CONTAINER_RUN "/gpu");
    write_mounts(file);
    fprintf(file,
            "          startupProbe:\n"
            "            exec: {command: [%s]}\n"
            "            periodSeconds: 2\n"
            "            timeoutSeconds: 15\n"
            "            failureThreshold: 30\n",
            deployment->mps ? "\"sh\", \"" CONTAINER_SCRIPTS "/mps\", \"ready\""
                            : "\"test\", \"-s\", \"" CONTAINER_RUN "/gpu\"");
    if (deployment->mps)
        fputs("          # One that hangs is started again; its workers then, by their probes.\n"
              "          livenessProbe:\n"
              "            exec: {command: [\"sh\", \"" CONTAINER_SCRIPTS "/mps\", \"ready\"]}\n"
              "            periodSeconds: 10\n"
              "            timeoutSeconds: 15\n"
              "            failureThreshold: 3\n",
              file);
}

static void write_probe(FILE *file, const char *kind, unsigned process, unsigned period,
                        unsigned failures)
{
    fprintf(file,
            "          %s:\n"
            "            exec: {command: [\"sh\", \"" CONTAINER_SCRIPTS "/check\", \"%u\"]}\n"
            "            periodSeconds: %u\n"
            "            timeoutSeconds: 15\n"
            "            failureThreshold: %u\n",
            kind, process, period, failures);
}

static void write_worker(FILE *file, const struct deployment *deployment, unsigned process)
{
    fprintf(file, "        - name: \"worker-%u\"\n          image: ", process);
    emit_yaml(file, deployment->image, false);
    fputs("\n          command: ", file);
    container_write_command(file, deployment, process);
    fputs("\n          resources:\n", file);
    fprintf(file, "            requests: {cpu: \"%u\"}\n",
            deployment->cpus_each ? deployment->cpus_each : deployment->threads);
    if (!shares_gpu(deployment))
        fputs("            limits: {nvidia.com/gpu: 1}\n", file);
    fputs("          env:\n", file);
    container_write_environment(file, deployment, process, NULL, write_variable);
    if (shares_gpu(deployment)) {
        write_variable(file, "NVIDIA_VISIBLE_DEVICES", "all");
        write_variable(file, "MPSWEEP_GPU_FILE", CONTAINER_RUN "/gpu");
    }
    write_mounts(file);
    write_probe(file, "startupProbe", process, 2, DEPLOYMENT_START_TIMEOUT / 2);
    write_probe(file, "livenessProbe", process, 10, 3);
}

/* A pod is what one GPU has. */
static void write_deployment(FILE *file, const struct deployment *deployment, unsigned replicas)
{
    const char *name = deployment->name;
    emit_origin_write(file, deployment);
    fprintf(file,
            "apiVersion: \"apps/v1\"\n"
            "kind: \"Deployment\"\n"
            "metadata:\n"
            "  name: \"%s\"\n"
            "  labels: {app: \"%s\"}\n"
            "spec:\n"
            "  replicas: %u\n"
            "  strategy: {type: \"Recreate\"}\n"
            "  selector:\n"
            "    matchLabels: {app: \"%s\"}\n"
            "  template:\n"
            "    metadata:\n"
            "      labels: {app: \"%s\"}\n"
            "    spec:\n"
            "      runtimeClassName: \"nvidia\"\n"
            "      # MPS proves who its clients are by process numbers, and shares /dev/shm.\n"
            "      shareProcessNamespace: true\n"
            "      terminationGracePeriodSeconds: %d\n"
            "      # Daemon and clients must be the same user.\n"
            "      securityContext: {runAsUser: %d, runAsGroup: %d, fsGroup: %d}\n",
            name, name, replicas, name, name, 2 * DEPLOYMENT_STOP_TIMEOUT + 10, CONTAINER_USER,
            CONTAINER_USER, CONTAINER_USER);
    if (shares_gpu(deployment))
        write_sidecar(file, deployment);
    fputs("      containers:\n", file);
    for (unsigned p = 0; p < deployment->processes; p++)
        write_worker(file, deployment, p);
    fprintf(file,
            "      volumes:\n"
            "        - name: \"run\"\n"
            "          emptyDir: {medium: \"Memory\", sizeLimit: \"64Mi\"}\n"
            "        - name: \"shm\"\n"
            "          emptyDir: {medium: \"Memory\"}\n"
            "        - name: \"scripts\"\n"
            "          configMap: {name: \"%s-scripts\"}\n",
            name);
}

static void write_kustomization(FILE *file, const struct deployment *deployment, unsigned process)
{
    (void)process;
    fprintf(file,
            "apiVersion: \"kustomize.config.k8s.io/v1beta1\"\n"
            "kind: \"Kustomization\"\n"
            "resources: [\"deployment.yaml\"]\n"
            "configMapGenerator:\n"
            "  - name: \"%s-scripts\"\n"
            "    files: [\"mps\", \"worker\", \"check\"]\n",
            deployment->name);
}

enum status emit_kubernetes_check(const struct deployment *deployment)
{
    if (deployment_uses(deployment, PLACEHOLDER_GPU))
        return status_set(STATUS_USAGE,
                          "{gpu} is not known before Kubernetes has allotted one: the worker finds "
                          "it in its environment as MPSWEEP_GPU");
    return STATUS_OK;
}

void emit_kubernetes_write(const struct deployment *deployment, struct emit_output *output)
{
    /* Kubernetes allots GPUs to pods and binds nothing: each GPU's pod is like that of the first,
     * which has every gpu_count-th process. */
    struct deployment_process processes[DEPLOYMENT_PROCESSES];
    struct deployment pod = *deployment;
    pod.processes = deployment->processes / deployment->gpu_count;
    pod.gpu_count = 1;
    pod.daemons = deployment->mps;
    pod.process = processes;
    for (unsigned p = 0; p < pod.processes; p++)
        processes[p] = deployment->process[p * deployment->gpu_count];
    emit_output_file(output, "deployment.yaml", false, write_deployment, &pod,
                     deployment->gpu_count);
    emit_output_file(output, "kustomization.yaml", false, write_kustomization, deployment, 0);
    container_copy_scripts(output);
}

void emit_kubernetes_usage(FILE *file, const struct deployment *deployment, unsigned process)
{
    const char *name = deployment->name;
    (void)process;
    fprintf(file,
            "With Kubernetes 1.29 or later (sidecars), in this directory:\n\n"
            "```sh\n"
            "kubectl apply -k .\n"
            "kubectl rollout status deployment/%s\n"
            "kubectl exec deployment/%s -c worker-0 -- sh " CONTAINER_SCRIPTS "/check 0\n"
            "kubectl delete -k .\n"
            "```\n\n",
            name, name);
    if (!deployment->request->image)
        fprintf(file, "**EDIT ME**: no image was given; replace `%s` in `deployment.yaml`.\n\n",
                deployment->image);
    fprintf(file,
            "A worker's probes succeed when it is there%s. Its image needs `sh`,\n`date` and "
            "`timeout`. All containers run as user %d. A worker that ends is started again.\n\n",
            deployment->mps ? " and proved to be a client of the daemon" : "", CONTAINER_USER);
    if (deployment->gpu_count > 1)
        fprintf(
            file,
            "There are %u replicas: a pod has one GPU, with its %u worker%s%s. Pods are numbered "
            "by\nnothing: `MPSWEEP_PROCESS` counts within one. Where they are to be on one "
            "machine, as they were\nmeasured, add a `podAffinity` for "
            "`kubernetes.io/hostname`.\n\n",
            deployment->gpu_count, deployment->processes / deployment->gpu_count,
            deployment->processes > deployment->gpu_count ? "s" : "",
            deployment->mps ? " and a daemon of its own" : "");
    if (deployment->daemons == 1 && deployment->gpu_count > 1)
        fputs("The measurement had one daemon for all GPUs. That is not what runs here.\n\n", file);
    if (shares_gpu(deployment))
        fputs("Kubernetes allots a GPU to one container only. The sidecar asks for it and writes "
              "its UUID\nto `" CONTAINER_RUN "/gpu`; the workers see all GPUs "
              "(`NVIDIA_VISIBLE_DEVICES=all`) and take that\none. The cluster must allow this "
              "variable to unprivileged containers, as the toolkit does\nunless it is "
              "configured otherwise.\n\n",
              file);
    fputs(
        "## Another cluster\n\n"
        "Take `runtimeClassName` out where NVIDIA's runtime is the default one, and add a "
        "`nodeSelector`\nfor the kind of GPU that was measured. `requests.cpu` is the CPUs' worth "
        "that each worker had; for\nCPUs of its own give it as limit, too, and a limit of "
        "memory, on nodes with the static CPU manager.\n",
        file);
}
