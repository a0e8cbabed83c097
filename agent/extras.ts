/**
 * What is recorded of calls beyond their arguments and results (csrc/recorder/extras.c): watches, recipes that follow
 * pointers, scripts; and which functions' calls get which of them.
 */

import { RECIPE_STEP, WATCH } from "./abi.js";
import { Scripts } from "./scripts.js";

/** As the host packs them; see strobe/capture/agent/extras_request.py. */
export interface ExtrasRequest {
    /** Numbers of recipes, with the bytes and items they may give and how many steps each has. */
    recipes: [index: number, bytes: number, items: number, steps: number][];
    /** Numbers of watches. */
    watches: number[];
    /** Sets: captures at the entry, at the return, most words; the recipe of the condition, 0 for none, and its needs; the first capture. */
    sets: [entry: number, exit: number, words: number, condition: number, needs: number, first: number][];
    scripts: [index: number, expression: string][];
    /** Watches of libraries, by their bases, and where they are read when that library has gone. */
    libraries: [base: string, ...Move][];
    /** Watches that are read at other places from now on. */
    moves: Move[];
    /** Bytes of the steps of all recipes, before those of the watches. */
    stepBytes: number;
}


type Move = [isRecipe: boolean, index: number, address: string];

export class Extras {
    private readonly moveWatch: (isRecipe: number, index: number, address: UInt64) => void;
    private readonly whenGone = new Map<string, Move[]>();
    private readonly setWatch: (index: number, watch: NativePointer) => void;
    private readonly setRecipe: (index: number, bytes: number, items: number, count: number, steps: NativePointer) => number;
    private readonly addExtras: (
        entry: number, exit: number, words: number, condition: number, needs: number, first: number) => number;
    private readonly setExtras: (count: number, functions: NativePointer, sets: NativePointer) => void;
    private readonly scripts: Scripts;

    constructor(form: Record<string, NativePointer>) {
        this.setWatch = new NativeFunction(form.strobe_agent_set_watch, "void", ["uint32", "pointer"]);
        this.moveWatch = new NativeFunction(form.strobe_agent_move_watch, "void", ["uint32", "uint32", "uint64"]);
        this.setRecipe = new NativeFunction(
            form.strobe_agent_set_recipe, "int", ["uint32", "uint32", "uint32", "uint32", "pointer"]);
        this.addExtras = new NativeFunction(
            form.strobe_agent_add_extras, "uint32", ["uint32", "uint32", "uint32", "uint32", "uint32", "uint32"]);
        this.setExtras = new NativeFunction(form.strobe_agent_set_extras, "void", ["uint32", "pointer", "pointer"]);
        this.scripts = new Scripts(form);
    }

    /** Gives the numbers of the sets, whose captures are there; 0 where there is no room. Throws where an expression cannot be compiled. */
    prepare(request: ExtrasRequest, data: ArrayBuffer): number[] {
        request.scripts.forEach(([index, expression]) => this.scripts.compile(index, expression));
        const memory = Memory.alloc(Math.max(data.byteLength, 8));
        memory.writeByteArray(data);
        let place = memory;
        for (const [index, bytes, items, steps] of request.recipes) {
            if (this.setRecipe(index, bytes, items, steps, place) === 0) throw new Error("there is no room for more recipes");
            place = place.add(steps * RECIPE_STEP.bytes);
        }
        place = memory.add(request.stepBytes);
        request.watches.forEach((index, at) => this.setWatch(index, place.add(at * WATCH.bytes)));
        this.move(request.moves);
        for (const [base, ...move] of request.libraries) this.whenGone.set(base, [...this.whenGone.get(base) ?? [], move]);
        return request.sets.map(set => this.addExtras(...set));
    }

    /** Nothing else is to be done with these when a library goes. */
    private move(moves: Move[]): void {
        for (const [isRecipe, index, address] of moves) {
            for (const [base, later] of this.whenGone) {
                this.whenGone.set(base, later.filter(move => move[0] !== isRecipe || move[1] !== index));
            }
            this.moveWatch(isRecipe ? 1 : 0, index, uint64(address));
        }
    }

    /** The library was unloaded: something else may soon be where it was. */
    forget(base: NativePointer): void {
        this.move(this.whenGone.get(base.toString()) ?? []);
        this.whenGone.delete(base.toString());
    }

    assign(functions: number[], sets: number[]): void {
        const ids = Memory.alloc(Math.max(4 * functions.length, 8));
        ids.writeByteArray(new Uint32Array(functions).buffer as ArrayBuffer);
        const numbers = Memory.alloc(Math.max(2 * sets.length, 8));
        numbers.writeByteArray(new Uint16Array(sets).buffer as ArrayBuffer);
        this.setExtras(functions.length, ids, numbers);
    }

    end(): void {
        this.scripts.end();
    }

    /** The recorder goes on without the agent. */
    endScripts(): void {
        this.scripts.endAll();
    }
}
