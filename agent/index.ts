/** The agent's message table: what the host (strobe/capture) can ask of it. */

import { Hooks, type HookRequest } from "./hooks.js";
import { bufferStandardOutputByLine, redirectStandardInput } from "./libc.js";
import { Recorder, type RecorderAnswer, type RecorderRequest } from "./recorder.js";

let recorder: Recorder | null = null;
let hooks: Hooks | null = null;

interface ModuleAnswer {
    name: string;
    path: string;
    base: string;
    size: number;
}

function describe(module: Module): ModuleAnswer {
    return { name: module.name, path: module.path, base: module.base.toString(), size: module.size };
}

function running(): Hooks {
    if (hooks === null) throw new Error("the recorder has not been set up");
    return hooks;
}

rpc.exports = {
    setup(request: RecorderRequest): RecorderAnswer {
        recorder = new Recorder(request);
        hooks = new Hooks(recorder);
        return recorder.answer;
    },

    prepareStdio(stdinPath: string | null, byLine: boolean): void {
        if (stdinPath !== null) redirectStandardInput(stdinPath);
        if (byLine) bufferStandardOutputByLine();
    },

    modules(): ModuleAnswer[] {
        return Process.enumerateModules().map(describe);
    },

    observeModules(): void {
        Process.attachModuleObserver({
            onAdded(module) {
                send({ type: "module-added", module: describe(module) });
            },
            onRemoved() {},
        });
    },

    registerUnwinder(addresses: string[]): void {
        addresses.forEach(address => recorder?.registerUnwinder(ptr(address)));
    },

    install(request: HookRequest): string[] {
        return running().install(request);
    },

    change(ids: number[], plans: number[][]): void {
        running().change(ids, plans);
    },

    /** Runs at unload, at detach, at exit, and when the host dies. */
    dispose(): void {
        hooks?.restoreAll();
        recorder?.end();
        hooks = null;
        recorder = null;
    },
};
