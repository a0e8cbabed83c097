/**
 * Function hooks. Trampolines are our own (trampolines.ts): the host writes the jumps to them, and takes these out again, while no thread
 * stands in the middle of what they replace (csrc/patch).
 * On other CPUs than x86-64 Interceptor makes and writes them itself, which is why the host asks only before the program runs.
 */

import {
    ENTRY_LOOPS, ENTRY_REFUSAL, PLAN_LOOPS_TO_ENTRY, REFUSED_INTERCEPTOR, REFUSED_NOT_CODE, REFUSED_NOTHING, REFUSED_UNLOADED,
} from "./abi.js";
import { forgetRemovals, isUnloaded } from "./modules.js";
import { PresentCode } from "./present_code.js";
import { type ProbeSpecs, refused, type Trampoline } from "./probe.js";
import { type Recorder } from "./recorder.js";
import { jumpsOf, makeTrampolines } from "./trampolines.js";

const BATCH = 100; // Interceptor's transactions are quadratic in their size

export class Hooks {
    constructor(private readonly recorder: Recorder) {}

    /**
     * Changes no code of the program, but where Interceptor writes the hooks. `plans`: as Recorder.setPlans takes them. `removals`: the last
     * removal of a library that the host has dealt with.
     */
    makeTrampolines(specs: ProbeSpecs, plans: ArrayBuffer, removals: number): Trampoline[] {
        this.recorder.setPlans(specs.ids, plans);
        const code = new PresentCode();
        const there = specs.ids.map((_, index) => code.has(Number(specs.addresses[index]), specs.sizes[index]));
        const present = <T>(items: T[]): T[] => items.filter((_, index) => there[index]);
        const { ids, addresses, sizes } = specs;
        forgetRemovals(removals);
        const made = this.make({ ids: present(ids), addresses: present(addresses), sizes: present(sizes) });
        let next = 0;
        return there.map((isThere, index) => {
            const trampoline = isThere ? made[next++] : refused(REFUSED_NOT_CODE);
            return isUnloaded(ptr(addresses[index])) ? refused(REFUSED_UNLOADED) : trampoline;
        });
    }

    private make(specs: ProbeSpecs): Trampoline[] {
        return this.recorder.enter === null ? this.attachAll(specs) : this.makeOwn(specs);
    }

    private makeOwn(specs: ProbeSpecs): Trampoline[] {
        const { addresses } = specs; // of one module, mostly; it may be asked for more at once
        for (const entry of new Set([addresses.at(0), addresses.at(-1)])) {
            if (entry !== undefined) this.recorder.observers?.noteTraced(ptr(entry));
        }
        const { trampolines, loops } = makeTrampolines(this.recorder, specs);
        this.noteLoops(specs, loops);
        this.recorder.codeChanges.note(jumpsOf(specs.addresses, trampolines));
        return trampolines;
    }

    private noteLoops(specs: ProbeSpecs, loops: boolean[]): void {
        this.recorder.addFlags(specs.ids.filter((_, index) => loops[index]), PLAN_LOOPS_TO_ENTRY);
    }

    private attachAll(specs: ProbeSpecs): Trampoline[] {
        const addresses = specs.addresses.map(address => ptr(address));
        const checks = this.recorder.checkPatchable(addresses, specs.sizes);
        this.noteLoops(specs, [...checks].map(check => (check & ENTRY_LOOPS) !== 0));
        const attached = addresses.map((address, index) => {
            if (index % BATCH === 0) Interceptor.flush();
            const refusal = checks[index] & ENTRY_REFUSAL;
            return refusal === REFUSED_NOTHING ? this.attach(specs.ids[index], address) : refused(refusal);
        });
        Interceptor.flush();
        return attached;
    }

    private attach(id: number, entry: NativePointer): Trampoline {
        const callbacks = this.recorder.onEnter as unknown as NativeInvocationListenerCallbacks;
        try {
            Interceptor.attach(entry, callbacks, ptr(id));
        } catch {
            return refused(REFUSED_INTERCEPTOR);
        }
        return refused(REFUSED_NOTHING); // nothing is left for the host to write
    }
}
