/* A plugin of QEMU: count the instructions that a program executes.
 *
 * Usage: gcc -shared -fPIC count.c -o count.so && qemu-aarch64 -plugin ./count.so -d plugin PROGRAM
 *
 * The last line that QEMU writes to standard error is the number of instructions of all threads. The declarations are those of version 1 of QEMU's
 * interface, so that its headers need not be installed.
 */
#include <inttypes.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;

int qemu_plugin_version = 1;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *block, void (*call)(unsigned, void *), int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_outs(const char *text);

static uint64_t count;

static void run(unsigned processor, void *instructions)
{
    (void)processor;
    __atomic_fetch_add(&count, (uintptr_t)instructions, __ATOMIC_RELAXED);
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, run, 0, (void *)qemu_plugin_tb_n_insns(block));
}

static void finish(qemu_plugin_id_t id, void *data)
{
    char text[32];
    (void)id, (void)data;
    snprintf(text, sizeof text, "%" PRIu64 "\n", count);
    qemu_plugin_outs(text);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
