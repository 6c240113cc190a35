/** The options and data that the public API takes, read from `index.d.ts` with the TypeScript compiler. */

import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A member of an object that callers pass. */
export interface Member {
  readonly name: string
  readonly isOptional: boolean
  /** How the type is declared. */
  readonly declared: string
  /** Its type names both `null` and `undefined`. */
  readonly mayBeAbsent: boolean
}

/** The objects that callers pass, by the names of their types. */
export type PublicTypes = ReadonlyMap<string, readonly Member[]>

const ENTRY = fileURLToPath(new URL('../../index.d.ts', import.meta.url))

/**
 * The types of all objects in the parameters of exported functions and public methods, and of the objects in their members.
 * What a function of the caller's is given is among them where an exported type declares it as a method.
 */
export function publicTypes(): PublicTypes {
  const program = ts.createProgram([ENTRY], {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
  })
  const checker = program.getTypeChecker()
  const entry = program.getSourceFile(ENTRY)
  const module = entry && checker.getSymbolAtLocation(entry)
  if (module === undefined) {
    throw new Error(`${ENTRY} is no module`)
  }
  const found = new Map<string, readonly Member[]>()
  const visited = new Set<ts.Type>()

  for (const exported of checker.getExportsOfModule(module)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
    if (symbol.flags & ts.SymbolFlags.Value) {
      // A class is its constructor and static methods here.
      visitCallable(checker.getTypeOfSymbol(symbol), symbol.name)
    }
    if (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) {
      visitMethods(checker.getDeclaredTypeOfSymbol(symbol), symbol.name)
    }
  }
  return found

  function visitCallable(type: ts.Type, owner: string): void {
    for (const signature of [...type.getCallSignatures(), ...type.getConstructSignatures()]) {
      visitParameters(signature, owner)
    }
    if (type.getConstructSignatures().length > 0) {
      visitMethods(type, owner)
    }
  }

  function visitMethods(type: ts.Type, owner: string): void {
    for (const member of type.getProperties()) {
      const isOurs = member.declarations?.some((declaration) => declaration.getSourceFile() === entry)
      if (isOurs && member.flags & ts.SymbolFlags.Method) {
        for (const signature of checker.getTypeOfSymbol(member).getNonNullableType().getCallSignatures()) {
          visitParameters(signature, `${owner}.${member.name}`)
        }
      }
    }
  }

  function visitParameters(signature: ts.Signature, owner: string): void {
    for (const parameter of signature.getParameters()) {
      visit(checker.getTypeOfSymbol(parameter), `${owner}(${parameter.name})`)
    }
  }

  /** @param fallback names a type that has no name */
  function visit(given: ts.Type, fallback: string): void {
    const type = checker.getNonNullableType(given)
    const constraint = type.flags & ts.TypeFlags.TypeParameter ? type.getConstraint() : type
    if (constraint === undefined || !(constraint.flags & (ts.TypeFlags.Object | ts.TypeFlags.UnionOrIntersection))) {
      return
    }
    // A value of JSON holds values of JSON.
    if (visited.has(constraint)) {
      return
    }
    visited.add(constraint)
    const alias = constraint.aliasSymbol?.name
    if (constraint.isUnion() && !isUnionOfObjects(constraint)) {
      for (const part of constraint.types) {
        visit(part, alias ?? fallback)
      }
      return
    }
    if (checker.isArrayType(constraint) || checker.isTupleType(constraint)) {
      for (const element of checker.getTypeArguments(constraint as ts.TypeReference)) {
        visit(element, `${fallback}[]`)
      }
      return
    }
    const values = constraint.getStringIndexType()
    if (values !== undefined && constraint.getProperties().length === 0) {
      visit(values, `${fallback}[key]`)
      return
    }
    if (constraint.getCallSignatures().length > 0 || constraint.isClass() || !isDeclaredHere(constraint)) {
      return
    }
    const symbolName = constraint.getSymbol()?.name ?? '__type'
    const name = alias ?? (symbolName.startsWith('__') ? fallback : symbolName)
    if (found.has(name)) {
      return
    }
    const parts = constraint.isUnion() ? constraint.types : [constraint]
    const members = new Map<string, Member>()
    found.set(name, [])
    for (const property of parts.flatMap((part) => part.getProperties())) {
      const member = memberOf(property)
      if (member !== undefined && (members.get(property.name)?.isOptional ?? true)) {
        members.set(property.name, member)
      }
      visit(checker.getTypeOfSymbol(property), `${name}.${property.name}`)
    }
    // An object of methods is called, not read.
    if (members.size === 0) {
      found.delete(name)
    } else {
      found.set(name, [...members.values()])
    }
  }

  /** Several shapes of one object. */
  function isUnionOfObjects(type: ts.UnionType): boolean {
    return type.types.every(
      (part) =>
        part.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection) &&
        part.getCallSignatures().length === 0 &&
        !part.isClass() &&
        !checker.isArrayType(part) &&
        isDeclaredHere(part),
    )
  }

  function isDeclaredHere(type: ts.Type): boolean {
    if (type.isIntersection()) {
      return type.types.every(isDeclaredHere)
    }
    const symbols = [type.getSymbol(), ...type.getProperties()]
    return symbols.some((symbol) => symbol?.declarations?.some((declaration) => declaration.getSourceFile() === entry))
  }

  function memberOf(property: ts.Symbol): Member | undefined {
    const declaration = property.declarations?.find(ts.isPropertySignature)
    if (declaration?.type === undefined) {
      return undefined
    }
    const parts = ts.isUnionTypeNode(declaration.type) ? declaration.type.types : [declaration.type]
    const kinds = new Set(parts.map((part) => (ts.isLiteralTypeNode(part) ? part.literal.kind : part.kind)))
    return {
      name: property.name,
      isOptional: declaration.questionToken !== undefined,
      declared: declaration.type.getText(),
      mayBeAbsent:
        kinds.has(ts.SyntaxKind.UnknownKeyword) ||
        kinds.has(ts.SyntaxKind.NeverKeyword) ||
        (kinds.has(ts.SyntaxKind.NullKeyword) && kinds.has(ts.SyntaxKind.UndefinedKeyword)),
    }
  }
}
