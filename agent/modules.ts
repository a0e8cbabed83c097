/**
 * The libraries of the target. One that is loaded while the program runs waits, in the thread that called dlopen, until the host
 * has placed its hooks: its constructors and first calls are recorded as well.
 */

export interface ModuleAnswer {
    name: string;
    path: string;
    base: string;
    size: number;
}

let announced = 0;

export function describe(module: Module): ModuleAnswer {
    return { name: module.name, path: module.path, base: module.base.toString(), size: module.size };
}

/** Calls back for libraries that come and go after this; Frida itself also tells of those that are there already. */
export function observe(added: (module: Module) => void, removed: (module: Module) => void): void {
    let known = false;
    Process.attachModuleObserver({
        onAdded(module) {
            if (known) added(module);
        },
        onRemoved(module) {
            if (known) removed(module);
        },
    });
    known = true;
}

/** Tells the host, and waits for its answer; Frida lets the wait go when the host dies. */
export function announce(module: ModuleAnswer): void {
    const ticket = `module-ready-${++announced}`;
    send({ type: "module-added", module, ticket });
    recv(ticket, () => {}).wait();
}
