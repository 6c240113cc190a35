; JavaScript and TypeScript: what both grammars name alike.
; The first pattern that defines a name at a place tells its kind.

; Functions

(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function

(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function

(export_statement
  "default"
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function

; Classes

(variable_declarator name: (identifier) @name value: (class)) @definition.class

(export_statement "default" value: (class)) @definition.class

(class body: (class_body) @container)

; Methods

(class_body
  (method_definition
    name: [(property_identifier) (private_property_identifier)] @name) @definition.method)

; Constants

(export_statement
  declaration: (_ (variable_declarator name: (identifier) @name) @definition.constant))

(variable_declarator name: (identifier) @name) @definition.exported

(export_clause (export_specifier name: (identifier) @exported))
(export_statement "default" value: (identifier) @exported)

(export_statement
  "default"
  value: [(object) (array) (call_expression) (new_expression)]) @definition.constant

; Words of the signature that stand before

(export_statement declaration: (_) @declared) @declaration
(lexical_declaration (variable_declarator) @declared) @declaration
(variable_declaration (variable_declarator) @declared) @declaration

; Functions have names of their own

[
  (function_declaration)
  (generator_function_declaration)
  (function_expression)
  (generator_function)
  (arrow_function)
  (method_definition)
  (class_static_block)
] @local.scope

(variable_declarator name: (identifier) @local.definition)
(arrow_function parameter: (identifier) @local.definition)
(catch_clause parameter: (identifier) @local.definition)
(for_in_statement left: (identifier) @local.definition)
(shorthand_property_identifier_pattern) @local.definition
(pair_pattern value: (identifier) @local.definition)
(array_pattern (identifier) @local.definition)
(rest_pattern (identifier) @local.definition)
(assignment_pattern left: (identifier) @local.definition)

; References

(call_expression function: (identifier) @name) @reference.call
(call_expression
  function: (member_expression
    property: [(property_identifier) (private_property_identifier)] @name)) @reference.method
(new_expression constructor: (identifier) @name) @reference.class
(new_expression
  constructor: (member_expression property: (property_identifier) @name)) @reference.member
(decorator (identifier) @name) @reference.decorator
(decorator (member_expression property: (property_identifier) @name)) @reference.member

(import_specifier name: (identifier) @name) @reference.import
(import_clause (identifier) @name) @reference.import
(export_specifier name: (identifier) @name) @reference.export

; Types and constants by their capital letter, functions where they are handed on

(member_expression
  property: (property_identifier) @name (#match? @name "^[A-Z]")) @reference.member
((identifier) @name (#match? @name "^[A-Z]")) @reference.value
(arguments (identifier) @name) @reference.value
(pair value: (identifier) @name) @reference.value
(array (identifier) @name) @reference.value
(assignment_expression right: (identifier) @name) @reference.value
(shorthand_property_identifier) @name @reference.value
