; The first pattern that defines a name at a place tells its kind.

(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(type_alias_statement left: (type (identifier) @name)) @definition.type
(type_alias_statement left: (type (generic_type (identifier) @name))) @definition.type

; Constants of the module

(module
  (expression_statement
    (assignment left: (identifier) @name (#match? @name "^_?[A-Z]")) @definition.constant))
(module
  (expression_statement
    (assignment left: (identifier) @name type: (_)) @definition.constant))
(module
  (_ (block
    (expression_statement
      (assignment left: (identifier) @name (#match? @name "^_?[A-Z]")) @definition.constant))))

(function_definition body: (_) @local.scope)
(lambda body: (_) @local.scope)

; References

(call function: (identifier) @name) @reference.call
(call function: (attribute attribute: (identifier) @name)) @reference.call
(decorator (identifier) @name) @reference.decorator
(decorator (attribute attribute: (identifier) @name)) @reference.decorator
(import_from_statement name: (dotted_name (identifier) @name .)) @reference.import
(import_from_statement
  name: (aliased_import name: (dotted_name (identifier) @name .))) @reference.import
(class_definition superclasses: (argument_list (identifier) @name)) @reference.class
(class_definition
  superclasses: (argument_list (attribute attribute: (identifier) @name))) @reference.class
(type (identifier) @name) @reference.type
(type (attribute attribute: (identifier) @name)) @reference.type
(generic_type (identifier) @name) @reference.type
((identifier) @name (#match? @name "^_?[A-Z]")) @reference.value
