/**
 * Functions of the C library whose calls the native recorder must know of (csrc/recorder/native/observed.c): the trampolines
 * for them, and what begins once the host has written the jumps.
 */

import { REFUSED_NOTHING } from "./abi.js";
import { type HookAnswer } from "./hooks.js";
import { symbolSize } from "./libc.js";
import type { Recorder } from "./recorder.js";
import { jumpsOf, makeTrampolines } from "./trampolines.js";

const RESUME = 14; // bytes of a trampoline before the displaced instructions
const ANCHOR = "gnu_get_libc_version"; // nobody interposes it, as sanitizers do sigaction

export interface ObservedFunction extends HookAnswer {
    name: string;
    address: string;
}

export class Observers {
    private readonly names: string[] = [];
    private real = NULL;
    /** How many of the recorder's code changes are theirs, the first ones. */
    changes = 0;

    constructor(private readonly recorder: Recorder, private readonly form: Record<string, NativePointer>) {
        const name = new NativeFunction(form.strobe_native_observed_name, "pointer", ["uint32"]);
        for (let number = 0; ; number++) {
            const text = name(number) as NativePointer;
            if (text.isNull()) break;
            this.names.push(text.readCString() as string);
        }
    }

    /** Makes the trampolines and changes nothing yet. Functions that the C library does not have are left out. */
    prepare(): ObservedFunction[] {
        const anchor = Module.findGlobalExportByName(ANCHOR);
        const library = anchor === null ? null : Process.findModuleByAddress(anchor);
        if (library === null) return [];
        const found = this.names
            .map((name, id) => ({ name, id, address: library.findExportByName(name) }))
            .filter((item): item is { name: string; id: number; address: NativePointer } => item.address !== null);
        const request = {
            ids: found.map(item => item.id),
            addresses: found.map(item => item.address.toString()),
            sizes: found.map(item => symbolSize(item.address)),
        };
        const answers = makeTrampolines(this.recorder, request, this.form.strobe_native_observe);
        const observed = found.map(({ name, address }, index) => {
            const { answer } = answers[index];
            if (name === this.names[0] && answer.refusal === REFUSED_NOTHING) this.real = ptr(answer.trampoline).add(RESUME);
            return { name, address: address.toString(), ...answer };
        });
        this.recorder.codeChanges.note(jumpsOf(observed.map(item => item.address), observed));
        this.changes = this.recorder.codeChanges.length;
        return observed;
    }

    /** The jumps are there. `mayBeBlocked`: see strobe_native_catch_faults. */
    begin(mayBeBlocked: boolean): void {
        new NativeFunction(this.form.strobe_native_catch_faults, "void", ["pointer", "int"])(this.real, mayBeBlocked ? 1 : 0);
    }

    end(): void {
        new NativeFunction(this.form.strobe_native_leave_faults, "void", [])();
    }
}
